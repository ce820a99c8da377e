"""A mesh whose routers reduce and multicast: switches around crossbars with reduction trees."""
