"""Memory beyond that of the NPUs: what files say of it, and what moving bytes takes."""
