"""What is never read from an export: addresses, places, e-mail addresses and tokens of people."""

import hashlib
import ipaddress
import re

__all__ = ["anonymous_id", "is_personal_name", "is_personal_value"]

_NAMES = frozenset(
    {
        *("ip", "ipaddress", "ipaddr", "remoteaddr", "clientip", "useragent"),
        *("city", "latitude", "longitude", "geolocation", "phone", "phonenumber"),
        *("email", "emailaddress", "mail"),
        *("token", "authtoken", "accesstoken", "refreshtoken", "apitoken", "apikey", "password", "secret"),
    }
)
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}\.[^@\s.]{2,63}")
_LONGEST = 254
"""Characters of the longest e-mail address."""


def is_personal_name(name: str) -> bool:
    """Return whether a column of this name holds personal data.

    Examples
    --------
    >>> [is_personal_name(name) for name in ("_ip", "data.Email", "Input.api_key", "gender", "recipe")]
    [True, True, True, False, False]
    """
    return re.sub(r"[^a-z0-9]", "", re.split(r"[.:]", name)[-1].casefold()) in _NAMES


def is_personal_value(value: object) -> bool:
    """Return whether a value as a whole is an e-mail address or an IP address.

    Examples
    --------
    >>> [is_personal_value(value) for value in ("ann@example.org", "10.0.0.1", "::1", "1.5", "write to a@b.org", 7)]
    [True, True, True, False, False, False]
    """
    if not isinstance(value, str) or len(value) > _LONGEST:
        return False
    if "@" in value:
        return _EMAIL.fullmatch(value.strip()) is not None
    if value.count(".") != 3 and value.count(":") < 2:
        return False
    try:
        ipaddress.ip_address(value.strip())
    except ValueError:
        return False
    return True


def anonymous_id(worker: str) -> str:
    """Return an id for a worker whose id is personal: always the same, so that models know the worker again.

    Examples
    --------
    >>> anonymous_id("ann@example.org") == anonymous_id("ann@example.org") != anonymous_id("bob@example.org")
    True
    """
    return f"worker-{hashlib.sha256(worker.strip().casefold().encode()).hexdigest()[:16]}"
