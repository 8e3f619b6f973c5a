"""A hook of Schemathesis that makes the product identifiers of generated price lists valid, unless they are too long.

docs/openapi.json states the rules of these identifiers as text, because a pattern for them would need a look-ahead.
"""

import schemathesis


@schemathesis.hook
def map_body(_, body):
    products = body.get("products") if isinstance(body, dict) else None
    if not isinstance(products, dict):
        return body
    return body | {"products": {f"a{key.replace('/', '')}a": prices for key, prices in products.items()}}
