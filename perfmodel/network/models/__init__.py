"""Network models, each registered by the module that holds it."""
