"""Calls every operation of a service of `npm start` with the Python client that openapi-generator generates."""

import datetime
import sys
import uuid

import openapi_client as client

configuration = client.Configuration(host=sys.argv[1], api_key={"apiKey": "local-dev-key"})
api = client.ApiClient(configuration)
price_lists = client.PriceListsApi(api)
data = client.OrganisationDataApi(api)
days = {"start_date": datetime.date(2026, 1, 1), "end_date": datetime.date(2026, 12, 1)}
team = {"team_id": "team-east-africa", **days}


def create(key, market_id="mkt-ken", price=900.5):
    prices = client.ProductPrices(price_list_price=price, expected_forward_cost_price=1)
    # The generator renames the field `date`, because a Python type has the same name.
    info = client.PriceListInfo(boq_list_id=key, market_id=market_id, currency_iso="KES", var_date="06/2026", name="June")
    return price_lists.add_price_lists(client.AddPriceListsRequest(info=info, products={"cement": prices}))


def expect_error(status, kind, call):
    try:
        call()
    except client.ApiException as error:
        assert (error.status, type(error.data)) == (status, kind), error
    else:
        raise AssertionError(f"no {status}")


key = str(uuid.uuid4())
created = create(key)
assert created.success and created.price_list.status == "ready", created
assert create(key) == created
unknown = create(f"{key}-2", market_id="nowhere")
assert unknown.success and unknown.market is None and unknown.price_list is None, unknown
expect_error(409, client.AddPriceLists409Response, lambda: create(key, price=1))
expect_error(400, client.ValidationErrorResponse, lambda: create("x" * 10_001))

for read in (data.get_markets, data.get_teams, data.get_warehouses):
    assert read().count > 0, read
assert data.get_orders_by_team(client.OrdersByTeamRequest(status="ALL", **team)).count > 0
counts = [
    data.supply_orders_invoices(client.SupplyOrdersInvoicesRequest(status=status, **team)).count for status in (None, 0, 1)
]
assert counts[0] == counts[1] + counts[2] > 0, counts
print("The Python client read the response of every operation")
