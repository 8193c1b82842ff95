package auth

import "time"

// TaskClaims is what one task credential binds: whoever holds the token may run exactly the payload
// with this digest, for this user, query and relation, until the expiry. Times have second resolution.
type TaskClaims struct {
	ID       string    // "jti": unique; set by Mint if empty
	Issuer   string    // "iss": the user's issuer is in UserIssuer; this is the gateway
	Subject  string    // "sub": Identity.Subject
	UserIss  string    // "uiss": Identity.Issuer
	Query    string    // "qid"
	Relation string    // "rel": the governed relation within the query
	Digest   string    // "dig": base64url SHA-256 over the canonical payload (files, deletes, columns, filter, masks)
	Expires  time.Time // "exp"
}

// Minter signs task credentials. It may be called at once from many goroutines.
type Minter interface {
	// Mint returns a signed EdDSA JWT (RFC 8037) for c.
	Mint(c TaskClaims) (Secret, error)
}

// Verifier checks task credentials, with public keys only.
type Verifier interface {
	// Verify returns the claims of token. The error is ErrBadTask if the signature, the expiry or the
	// form is wrong, or if query, relation, subject or digest differ from want.
	Verify(token Secret, want TaskClaims) (TaskClaims, error)
}
