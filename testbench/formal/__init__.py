"""Protocol models for exhaustive state search."""
