"""Fair consensus live in a labelling platform: a small HTTP server with the standard library alone.

``live_votes`` keeps the votes so far, ``live_consensus`` aggregates them and makes the labels fair,
``label_studio_backend`` answers the requests of Label Studio, and ``http_server`` checks who asks, and how much.
"""
