"""Calls add price lists by the client that openapi-python-client generates, and prints what it gets as JSON."""

import json
import os

from generated import AuthenticatedClient
from generated.api.price_lists import add_price_lists
from generated.models import AddPriceListsRequest, AddPriceListsRequestProducts, PriceListInfo, ProductPrices


def send(api_key, market_id, name):
    client = AuthenticatedClient(os.environ["BASE_URL"], api_key, prefix="", auth_header_name="x-api-key")
    products = AddPriceListsRequestProducts()
    products["cement"] = ProductPrices(price_list_price=1234567.89, expected_forward_cost_price=987654.321)
    info = PriceListInfo(market_id=market_id, boq_list_id="python", currency_iso="KES", date="06/2026", name=name)
    return add_price_lists.sync(client=client, body=AddPriceListsRequest(info=info, products=products))


api_key = os.environ["API_KEY"]
created = send(api_key, "mkt-ken", "June")
invalid = send(api_key, "", "June")
refused = [send("wrong", "mkt-ken", "June"), send(api_key, "mkt-ken", "July"), send(api_key, "mkt-ken", "x" * 2**21)]
print(
    json.dumps(
        {
            "price_list_id": created.price_list.id,
            "path": invalid.errors[0].path,
            "errors": [response.error.value for response in refused],
        }
    )
)
