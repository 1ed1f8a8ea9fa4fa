"""The studio as a server on this machine: address, token, start and end."""

import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from faircrowd.errors import OptionError
from faircrowd.studio.studio_app import MAX_UPLOAD, make_app
from faircrowd.studio.workspace import Workspace

__all__ = ["serve_studio"]

_HOST = "127.0.0.1"


def serve_studio(
    folder: Path, port: int = 0, *, max_upload: int = MAX_UPLOAD, tell: Callable[[str], None] = lambda address: None
) -> None:
    """Serve the studio until Ctrl-C.

    Parameters
    ----------
    folder : Path
        Where files and runs are kept.
    port : int
        0 takes a free one.
    tell : function of an address
        Called with the address, which holds the token, once it is listened to.
    """
    workspace = Workspace(folder)
    listener = _listen(port)
    token = secrets.token_urlsafe(24)
    config = uvicorn.Config(
        make_app(workspace, token, max_upload=max_upload),
        log_level="error",
        access_log=False,  # addresses hold the token, and names of files
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=5,
    )
    with listener:
        tell(f"http://{_HOST}:{listener.getsockname()[1]}/?token={token}")
        uvicorn.Server(config).run(sockets=[listener])


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_HOST, port))
        listener.listen(64)
    except (OSError, OverflowError) as error:
        listener.close()
        raise OptionError(
            f"port={port} of this machine cannot be listened to: {getattr(error, 'strerror', None) or error}.",
            parameter="port",
        ) from None
    return listener
