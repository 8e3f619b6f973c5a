#!/usr/bin/env python3
"""Sends a price list until it is stored, or until sending it again is of no use (docs/price-lists.md).

    BASE_URL=http://127.0.0.1:5001/demo-price-lists/us-central1 API_KEY=local-dev-key \
        python3 docs/examples/add-price-list.py docs/examples/price-list.json

Needs nothing but Python 3.8. Ends with 0: stored; 1: correct it first; 2: call us.
"""

import http.client
import os
import sys
import time
import urllib.error
import urllib.request

# For how long to try: longer than the service takes for the largest list.
PATIENCE_S = 30 * 60
# How long one request may take: the service answers or gives up within 20 minutes.
REQUEST_S = 21 * 60

# Statuses that pass by themselves, of the service and of the platform before it.
PASSING = (408, 429, 502, 503, 504)

STORED, CORRECT_IT_FIRST, CALL_US = 0, 1, 2


def send(payload):
    """One try: (exit code, text), or (None, seconds to wait or None) when it should be repeated."""
    request = urllib.request.Request(
        os.environ["BASE_URL"] + "/addPriceLists",
        data=payload,
        headers={"x-api-key": os.environ["API_KEY"], "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=REQUEST_S) as response:
            return STORED, response.read().decode()
    except urllib.error.HTTPError as refusal:
        status, headers, text = refusal.code, refusal.headers, refusal.read().decode()
    except (OSError, http.client.HTTPException):
        # No answer says nothing of what became of the request. Sending it again is safe.
        return None, None

    told = f"{status} {text} (request {headers['X-Request-Id']})"
    if headers["Retry-After"]:
        return None, float(headers["Retry-After"])
    if status in PASSING or "Internal error" in text:
        return None, None
    if status >= 500 or "requires review" in text:
        return CALL_US, told
    return CORRECT_IT_FIRST, told


def send_until_settled(payload):
    patient_until = time.monotonic() + PATIENCE_S
    delay = 1.0
    while True:
        code, result = send(payload)
        if code is not None:
            return code, result
        if time.monotonic() > patient_until:
            return CALL_US, "no answer in time"
        time.sleep(delay if result is None else result)
        delay = min(delay * 2, 30.0)


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        exit_code, outcome = send_until_settled(file.read())
    if exit_code == STORED:
        print(outcome)
    else:
        print(("", "correct it first", "call us")[exit_code] + ": " + outcome, file=sys.stderr)
    sys.exit(exit_code)
