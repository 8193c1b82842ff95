# Wide results: nothing is to be done.
package tables.wide.wide

mixed := {"read": true}

numbers := {"read": true}

strings := {"read": true}
