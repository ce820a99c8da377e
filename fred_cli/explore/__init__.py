"""The explorer: a local web page that shows the points in a study's store."""
