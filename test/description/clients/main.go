// Calls add price lists by the client that oapi-codegen generates, and prints what it gets as JSON.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"

	"client/api"
)

func main() {
	send := func(apiKey, marketId, name string) *api.AddPriceListsResponse {
		withApiKey := func(_ context.Context, request *http.Request) error {
			request.Header.Set("x-api-key", apiKey)
			return nil
		}
		client, err := api.NewClientWithResponses(os.Getenv("BASE_URL"), api.WithRequestEditorFn(withApiKey))
		if err != nil {
			log.Fatal(err)
		}
		body := api.AddPriceListsRequest{
			Info: api.PriceListInfo{MarketId: marketId, BoqListId: "go", CurrencyIso: "KES", Date: "06/2026", Name: name},
			Products: map[string]api.ProductPrices{
				"cement": {PriceListPrice: 1234567.89, ExpectedForwardCostPrice: 987654.321},
			},
		}
		response, err := client.AddPriceListsWithResponse(context.Background(), nil, body)
		if err != nil {
			log.Fatal(err)
		}
		return response
	}

	apiKey := os.Getenv("API_KEY")
	created := send(apiKey, "mkt-ken", "June")
	invalid := send(apiKey, "", "June")
	unauthorized := send("wrong", "mkt-ken", "June")
	other := send(apiKey, "mkt-ken", "July")
	tooLarge := send(apiKey, "mkt-ken", strings.Repeat("x", 2*1024*1024))
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"price_list_id": created.JSON200.PriceList.Id,
		"path":          invalid.JSON400.Errors[0].Path,
		"errors":        []any{unauthorized.JSON401.Error, other.JSON409.Error, tooLarge.JSON413.Error},
	})
}
