"""Labels to a platform over HTTP, with the standard library alone.

``access_token`` reads the token from a file, ``http_client`` asks and sends JSON, with retries and without ever showing
the token, ``push_plan`` says what is to be sent, and one module per platform compares with what is there and sends.
"""
