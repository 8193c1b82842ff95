# The copies of what eve sees are filtered and masked already: nothing is to be done.
package tables.tpcds.tpcds_eve

call_center := {"read": true}

catalog_page := {"read": true}

catalog_returns := {"read": true}

catalog_sales := {"read": true}

customer := {"read": true}

customer_address := {"read": true}

customer_demographics := {"read": true}

date_dim := {"read": true}

household_demographics := {"read": true}

income_band := {"read": true}

inventory := {"read": true}

item := {"read": true}

promotion := {"read": true}

reason := {"read": true}

ship_mode := {"read": true}

store := {"read": true}

store_returns := {"read": true}

store_sales := {"read": true}

time_dim := {"read": true}

warehouse := {"read": true}

web_page := {"read": true}

web_returns := {"read": true}

web_sales := {"read": true}

web_site := {"read": true}
