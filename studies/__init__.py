"""Studies: comparisons of many estimates."""
