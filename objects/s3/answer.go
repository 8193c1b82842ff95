package s3

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"gatehouse/objects"
)

// codeForm is what codes of errors look like. Nothing else of an answer's text is kept: a store, or who answers in its place, could write
// the request's own signature there.
var codeForm = regexp.MustCompile(`^[A-Za-z]{1,50}$`)

// expired and refused are codes that stores send with the status 400, too.
var (
	expired = map[string]bool{"ExpiredToken": true, "TokenRefreshRequired": true, "ExpiredTokenException": true}
	refused = map[string]bool{
		"InvalidToken": true, "InvalidAccessKeyId": true, "SignatureDoesNotMatch": true, "AuthorizationHeaderMalformed": true,
		"AccessDenied": true, "InvalidSecurity": true,
	}
	busy = map[string]bool{"SlowDown": true, "RequestTimeout": true, "InternalError": true, "ServiceUnavailable": true}
)

// refusal turns an answer that is not the object into an error, and says whether the request is worth another one.
func refusal(r *http.Response) (err error, again bool) {
	code := code(r)
	kind := objects.ErrUnavailable
	switch {
	case expired[code]:
		kind = objects.ErrExpired
	case busy[code]:
		again = true
	case refused[code], r.StatusCode == http.StatusForbidden, r.StatusCode == http.StatusUnauthorized,
		r.StatusCode >= 300 && r.StatusCode < 400: // another place
		kind = objects.ErrRefused
	case r.StatusCode == http.StatusNotFound:
		kind = objects.ErrNotFound
	case r.StatusCode == http.StatusPreconditionFailed:
		kind = objects.ErrChanged
	case r.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		kind = errRange
	case r.StatusCode >= 500, r.StatusCode == http.StatusTooManyRequests, r.StatusCode == http.StatusRequestTimeout:
		again = true
	}
	return fmt.Errorf("%w (status %d %s)", kind, r.StatusCode, code), again
}

// code returns the code in an error's body, "" if there is none.
func code(r *http.Response) string {
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<10))
	var e struct {
		Code string `xml:"Code"`
	}
	if err != nil || xml.Unmarshal(body, &e) != nil || !codeForm.MatchString(e.Code) {
		return ""
	}
	return e.Code
}
