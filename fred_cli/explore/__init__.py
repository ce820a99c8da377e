"""The explorer: a local web page that shows the points of a study's store."""
