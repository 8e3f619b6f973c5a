#!/usr/bin/env python3
"""Sends a price list until the service has created its lists, or until another try would not help.

    BASE_URL=http://127.0.0.1:5001/demo-price-lists/us-central1 API_KEY=local-dev-key \
        python3 add-price-list.py price-list.json

Needs Python 3.7 or newer, and no package. integration-guide.md explains the retries.
Writes the response to stdout and everything else to stderr. Uses the proxy that https_proxy names.
Exit codes: 0 created, 1 correct it first, 2 contact support, 64 wrong usage.
Lists in another currency than the request's cause a warning; with --strict-currency, exit code 1.
"""

import base64
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
import urllib.request

# Half an hour is longer than the service takes for the largest list.
RETRY_SECONDS = float(os.environ.get("RETRY_SECONDS", 30 * 60))
# The service responds to one request within 20 minutes.
REQUEST_SECONDS = float(os.environ.get("REQUEST_SECONDS", 21 * 60))

# Statuses of transient errors of the service and of the platform in front of it.
TRANSIENT_STATUSES = (408, 429, 502, 503, 504)

CREATED, CORRECT_IT_FIRST, CONTACT_SUPPORT, WRONG_USAGE = 0, 1, 2, 64
STRICT_CURRENCY = "--strict-currency"


class Retry(Exception):
    """The request may be sent again, after the given seconds if the response names them."""

    def __init__(self, reason, after_seconds=None):
        super().__init__(reason)
        self.after_seconds = after_seconds


def post(url, api_key, payload):
    """Sends one request, without following a redirect with the API key. Returns (status, headers, text)."""
    address = urllib.parse.urlsplit(url)
    connection = open_connection(address)
    headers = {"x-api-key": api_key, "Content-Type": "application/json"}
    try:
        connection.connect()
        try:
            connection.request("POST", address.path, payload, headers)
        except (ConnectionError, ssl.SSLEOFError):
            pass  # The service may respond with 401 or 413, and close, before it has read the whole request.
        response = connection.getresponse()
        return response.status, response.headers, response.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        # Without a response, the outcome is unknown. Sending the same payload again is safe.
        raise Retry(f"no response: {error or type(error).__name__}")
    finally:
        connection.close()


def open_connection(address):
    """Returns a connection. For https, it uses the proxy of the environment, which never sees the API key."""
    if address.scheme == "http":
        return http.client.HTTPConnection(address.netloc, timeout=REQUEST_SECONDS)
    proxy = urllib.request.getproxies().get("https")
    if not proxy or urllib.request.proxy_bypass(address.hostname):
        return http.client.HTTPSConnection(address.netloc, timeout=REQUEST_SECONDS)
    proxy = urllib.parse.urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    headers = {}
    if proxy.username:
        user = urllib.parse.unquote(f"{proxy.username}:{proxy.password or ''}")
        headers["Proxy-Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
    connection = http.client.HTTPSConnection(proxy.hostname, proxy.port or 1080, timeout=REQUEST_SECONDS)
    connection.set_tunnel(address.hostname, address.port or 443, headers)
    return connection


def send(url, api_key, payload):
    """Tries once. Returns (exit code, text) or raises Retry."""
    status, headers, text = post(url, api_key, payload)
    body = parse_object(text)
    error = body.get("error")
    after_seconds = parse_retry_after(headers["Retry-After"])
    reason = f"{status} {error}" if isinstance(error, str) else str(status)
    summary = f"{status} {text} (request {headers['X-Request-Id']})"

    if status == 200:
        if body.get("success") is True:
            return CREATED, text
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
    """Returns seconds, or None for a value that is neither a number of seconds nor a date."""
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


def find_problem(text, payload):
    """Finds what a 200 hides. Returns (exit code, sentence), or None if the lists are as they were sent."""
    info, price_list = json.loads(payload)["info"], parse_object(text).get("price_list")
    if price_list is None:
        market_id = json.dumps(info["market_id"])
        return CORRECT_IT_FIRST, (
            f"no list was created, because no market has the market_id {market_id}. "
            "Send a market_id of get markets with a new boq_list_id: this one is used up"
        )
    sent, stored = info["currency_iso"].upper(), price_list["currency"]
    if sent != stored:
        return CREATED, f"the prices are stored as {stored}, the currency of the market, not as {sent}"
    return None


def parse_call():
    """Returns (whether the currency is strict, address, API key, payload). Raises ValueError or OSError."""
    base_url, api_key = os.environ.get("BASE_URL", ""), os.environ.get("API_KEY", "")
    args = sys.argv[1:]
    is_strict = args[:1] == [STRICT_CURRENCY]
    files = args[1:] if is_strict else args
    if len(files) != 1:
        raise ValueError("expected one file")
    if files[0].startswith("-"):
        raise ValueError(f"{files[0]} is not an option; the only one is {STRICT_CURRENCY}")
    if not re.match("https?://[^/]", base_url):
        raise ValueError("BASE_URL must begin with http:// or https://")
    if not re.fullmatch("[!-~]+", api_key):
        raise ValueError("API_KEY must be set, without spaces or line breaks")
    with open(files[0], "rb") as file:
        return is_strict, base_url.rstrip("/") + "/addPriceLists", api_key, file.read()


def finish(exit_code, text):
    prefix = {CREATED: "warning", CORRECT_IT_FIRST: "correct it first", CONTACT_SUPPORT: "contact support"}
    print(f"{prefix[exit_code]}: {text}", file=sys.stderr)
    return exit_code


def main():
    sys.stdout.reconfigure(encoding="utf-8")  # On Windows, the default encoding may lack characters of the response.
    try:
        is_strict, url, api_key, payload = parse_call()
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        usage = f"Usage: BASE_URL=https://... API_KEY=... python3 add-price-list.py [{STRICT_CURRENCY}] FILE"
        print(usage, file=sys.stderr)
        return WRONG_USAGE
    exit_code, text = send_with_retries(url, api_key, payload)
    if exit_code != CREATED:
        return finish(exit_code, text)
    print(text)
    problem = find_problem(text, payload)
    if problem is None:
        return CREATED
    exit_code, text = problem
    return finish(CORRECT_IT_FIRST if is_strict else exit_code, text)


if __name__ == "__main__":
    sys.exit(main())
