#!/usr/bin/env python3
"""Sends a price list until the service has created its lists, another request would not help, or the time for retries is over.

    pip install -r requirements.txt
    BASE_URL=https://... API_KEY=... python3 add-price-list.py [--allow-other-currency] FILE

Needs Python 3.10 or newer. The integration guide explains the retries. Exit codes:
0 created, 1 correct the request first, 2 contact support, 3 lists may exist: correct the cause, and send the same file again,
64 wrong usage, address, file or certificate.
"""

import concurrent.futures
import json
import os
import re
import sys
import threading

import requests
import tenacity
from urllib3.exceptions import HTTPError, InvalidHeader
from urllib3.util import Retry


class Transient(Exception):
    """The request should be sent again. The arguments are the reason and the value of the header Retry-After."""


def say(text):
    """Writes to stderr, without control characters. If stderr is closed or full, the exit code stays the same."""
    try:
        print("".join(c if c.isprintable() else " " for c in str(text)), file=sys.stderr, flush=True)
    except OSError:
        pass


def finish(exit_code, text):
    say(text)
    sys.exit(exit_code)


def read_seconds(name, default):
    text = os.environ.get(name) or str(default)
    if not re.fullmatch("[1-9][0-9]{0,5}", text):
        finish(64, f"{name} must be a whole number of seconds from 1 to 999999")
    return int(text)


RETRY_SECONDS = read_seconds("RETRY_SECONDS", 30 * 60)  # longer than the service takes for the largest list
REQUEST_SECONDS = read_seconds("REQUEST_SECONDS", 21 * 60)  # the service responds within 20 minutes
NOT_FROM_SERVICE = "The response is not from the service. Correct the address or the network, and send the same file again"


def exchange(url, api_key, payload):
    headers = {"x-api-key": api_key, "Content-Type": "application/json", "Accept-Encoding": "identity"}
    # `auth` is a callable, because the library would otherwise send a password from ~/.netrc.
    options = {"timeout": REQUEST_SECONDS, "allow_redirects": False, "stream": True, "auth": lambda request: request}
    with requests.post(url, payload, headers=headers, **options) as response:
        # A second read fails if the connection broke before the end of the response.
        return response, (response.raw.read(1_000_000) + response.raw.read(1)).decode(errors="replace")


def run_in_time(function, *args):
    """Bounds the whole call. The timeout of the library bounds only each wait for the next bytes."""
    future = concurrent.futures.Future()

    def run():
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future.result(REQUEST_SECONDS)


def send(url, api_key, payload):
    """Sends one request. Returns the body of a 200 response, raises Transient, or exits if a retry would not help."""
    try:
        response, body = run_in_time(exchange, url, api_key, payload)
    except concurrent.futures.TimeoutError as error:
        raise Transient("no response in time", "") from error
    except (requests.RequestException, HTTPError, OSError, ValueError) as error:
        is_local = not isinstance(error, (requests.RequestException, HTTPError))  # such as a missing REQUESTS_CA_BUNDLE
        if is_local or isinstance(error, ValueError) or "CERTIFICATE_VERIFY_FAILED" in str(error):
            finish(64, f"BASE_URL, API_KEY or the certificate cannot be used: {error}")
        raise Transient(f"no response: {error}", "") from error
    status, retry_after = response.status_code, response.headers.get("Retry-After", "")
    reason = f"{status} {body[:1000]} request {response.headers.get('X-Request-Id', '')}"
    if status == 200:
        return body
    if 200 < status < 300:
        finish(3, NOT_FROM_SERVICE)
    if retry_after or status in (408, 429, 500, 502, 503, 504):
        raise Transient(reason, retry_after)
    if status >= 500 or "requires review" in body:
        finish(2, f"Contact support: {reason}")
    finish(1, f"Correct it first: {reason}")


def refuse_duplicates(members):
    """Exits if a name of an object occurs twice, because the service would use only its last value."""
    names = set()
    for name, _ in members:
        if name in names:
            finish(1, f"Correct it first: {name} occurs twice in one object")
        names.add(name)
    return dict(members)


def look_for_duplicates(payload):
    """Looks at the text, because a parser keeps only one of two equal names. A file that is not valid JSON passes, because the service rejects it."""
    try:
        json.loads(payload, object_pairs_hook=refuse_duplicates)
    except (ValueError, RecursionError):
        pass


def get_wait(state):
    try:
        return max(Retry().parse_retry_after(state.outcome.exception().args[1]), 1)
    except (InvalidHeader, ValueError, OverflowError):
        return tenacity.wait_exponential(min=1, max=30)(state)


def check(body, payload, allows_other_currency):
    """Prints the response. Exits with an error if that fails, if the response is not from the service, or if its lists are not usable."""
    try:
        response, request = json.loads(body), json.loads(payload)
        lists = [response["price_list"], response["expected_forward_cost"]]
        is_ready = lists == [None, None] or [each["status"] for each in lists] == ["ready", "ready"]
        if response["success"] is not True or response["products_count"] != len(request["products"]) or not is_ready:
            raise ValueError("not a success of the service")
        stored = lists[0] and lists[0]["currency"]
        os.write(1, json.dumps(response).encode() + b"\n")
    except (ValueError, TypeError, KeyError, RecursionError):
        finish(3, NOT_FROM_SERVICE)
    except OSError as error:
        finish(3, f"The response cannot be written. Lists may exist: send the same file again. {error}")
    if stored is None:
        finish(1, "Correct it first: no market has the market_id, so no list was created. Use a new boq_list_id")
    sent = request["info"]["currency_iso"].upper()
    if sent != stored and not allows_other_currency:
        finish(1, f"Correct it first: the prices are stored as {stored}, the currency of the market, not as {sent}")


*options, file = sys.argv[1:] or [""]
base_url, api_key = os.environ.get("BASE_URL", ""), os.environ.get("API_KEY", "")
if options not in ([], ["--allow-other-currency"]) or not api_key or not os.path.isfile(file):
    finish(64, "Usage: BASE_URL=https://... API_KEY=... python3 add-price-list.py [--allow-other-currency] FILE")
try:
    with open(file, "rb") as opened:
        content = opened.read()
except OSError as error:
    finish(64, f"The file cannot be read: {error}")
look_for_duplicates(content)
retrying = tenacity.Retrying(
    retry=tenacity.retry_if_exception_type(Transient),
    wait=get_wait,
    stop=tenacity.stop_before_delay(RETRY_SECONDS),
    before_sleep=lambda state: say(f"Retry in {state.upcoming_sleep:.0f} s: {state.outcome.exception().args[0]}"),
    retry_error_callback=lambda state: finish(2, f"Contact support, no success in time: {state.outcome.exception().args[0]}"),
)
check(retrying(send, base_url.rstrip("/") + "/addPriceLists", api_key, content), content, options)
