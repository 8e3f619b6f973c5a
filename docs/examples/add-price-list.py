#!/usr/bin/env python3
"""Sends a price list until it is stored, or until sending it again is of no use (docs/integration-guide.md).

    BASE_URL=http://127.0.0.1:5001/demo-price-lists/us-central1 API_KEY=local-dev-key \
        python3 docs/examples/add-price-list.py docs/examples/price-list.json

Needs Python 3.8 or newer, and no package.
Exit codes: 0 stored, 1 correct it first, 2 contact support, 64 wrong usage.
"""

import email.utils
import http.client
import json
import math
import os
import re
import ssl
import sys
import time
import urllib.parse

# How long to retry: longer than the service takes for the largest list.
RETRY_SECONDS = float(os.environ.get("RETRY_SECONDS", 30 * 60))
# How long one request may take: the service responds within 20 minutes.
REQUEST_SECONDS = float(os.environ.get("REQUEST_SECONDS", 21 * 60))

# Statuses of transient errors, of the service and of the platform in front of it.
TRANSIENT_STATUSES = (408, 429, 502, 503, 504)

STORED, CORRECT_IT_FIRST, CONTACT_SUPPORT, WRONG_USAGE = 0, 1, 2, 64


class Retry(Exception):
    """The request may be sent again, after so many seconds if the service said when."""

    def __init__(self, reason, after_seconds=None):
        super().__init__(reason)
        self.after_seconds = after_seconds


def post(url, api_key, payload):
    """One request: (status, headers, text). A redirect is not followed: that would send the API key elsewhere."""
    address = urllib.parse.urlsplit(url)
    connect = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    connection = connect(address.netloc, timeout=REQUEST_SECONDS)
    headers = {"x-api-key": api_key, "Content-Type": "application/json"}
    try:
        connection.connect()
        try:
            connection.request("POST", address.path, payload, headers)
        except (ConnectionError, ssl.SSLEOFError):
            pass  # The service may respond while the request is being sent, and close: a 401 or 413.
        response = connection.getresponse()
        return response.status, response.headers, response.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        # Without a response the outcome is unknown. Sending the same payload again is safe.
        raise Retry(f"no response: {error or type(error).__name__}")
    finally:
        connection.close()


def send(url, api_key, payload):
    """One try: (exit code, text). Raises Retry."""
    status, headers, text = post(url, api_key, payload)
    body = parse_object(text)
    error = body.get("error")
    after_seconds = parse_retry_after(headers["Retry-After"])
    reason = f"{status} {error}" if isinstance(error, str) else str(status)
    summary = f"{status} {text} (request {headers['X-Request-Id']})"

    if status == 200:
        if body.get("success") is True:
            return STORED, text
        raise Retry("200, but not with a response of the service", after_seconds)
    if headers["Retry-After"] or status in TRANSIENT_STATUSES:
        raise Retry(reason, after_seconds)
    if status >= 500:
        if not isinstance(error, str):
            raise Retry(f"{status}, but not with a response of the service", after_seconds)
        if error == "Internal error":
            raise Retry(reason, after_seconds)
        return CONTACT_SUPPORT, summary
    return (CONTACT_SUPPORT if "requires review" in text else CORRECT_IT_FIRST), summary


def parse_retry_after(value):
    """`Retry-After` is a number of seconds or a date. Returns seconds, or None."""
    if value is None:
        return None
    if re.fullmatch("[0-9]+", value):
        return int(value)
    try:
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0)
    except (TypeError, ValueError):
        return None


def parse_object(text):
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def send_with_retries(url, api_key, payload):
    retry_until = time.monotonic() + RETRY_SECONDS
    tries, delay = 1, 1
    while True:
        try:
            return send(url, api_key, payload)
        except Retry as retry:
            wait = delay if retry.after_seconds is None else retry.after_seconds
            if time.monotonic() + wait > retry_until:
                return CONTACT_SUPPORT, f"not stored after {tries} tries, the last: {retry}"
            print(f"try {tries}: {retry}; next try in {math.ceil(wait)} s", file=sys.stderr, flush=True)
        time.sleep(wait)
        tries, delay = tries + 1, min(delay * 2, 30)


def parse_call():
    """The address, API key and payload. Raises ValueError or OSError."""
    base_url, api_key = os.environ.get("BASE_URL", ""), os.environ.get("API_KEY", "")
    if len(sys.argv) != 2:
        raise ValueError("expected one file")
    if not re.match("https?://[^/]", base_url):
        raise ValueError("BASE_URL must begin with http:// or https://")
    if not re.fullmatch("[!-~]+", api_key):
        raise ValueError("API_KEY must be set, without spaces or line breaks")
    with open(sys.argv[1], "rb") as file:
        return base_url.rstrip("/") + "/addPriceLists", api_key, file.read()


def main():
    try:
        call = parse_call()
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        print("Usage: BASE_URL=https://… API_KEY=… python3 add-price-list.py FILE", file=sys.stderr)
        return WRONG_USAGE
    exit_code, text = send_with_retries(*call)
    if exit_code == STORED:
        print(text)
    else:
        print(("correct it first: " if exit_code == CORRECT_IT_FIRST else "contact support: ") + text, file=sys.stderr)
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
