package opa

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// builtins are the built-in functions that a policy may use: those that depend on nothing but their arguments, and
// time.now_ns, which is the statement's admission time. What a later version of OPA adds is off until it is listed.
//
// Left out on purpose: http.send, net.lookup_ip_addr and providers.aws.sign_req (reach outside or prepare to),
// opa.runtime (shows the environment), rand.intn and uuid.rfc4122 (decide differently each time), rego.parse_module,
// trace (writes traces), io.jwt and crypto.x509 (what a token says is in the claims, verified). What remains can burn
// time, which the timeout bounds.
var builtins = strings.Fields(`
	abs all and any array.concat array.flatten array.reverse array.slice assign base64.decode base64.encode
	base64.is_valid base64url.decode base64url.encode base64url.encode_no_pad bits.and bits.lsh bits.negate bits.or
	bits.rsh bits.xor cast_array cast_boolean cast_null cast_object cast_set cast_string ceil concat contains count
	crypto.hmac.equal crypto.hmac.md5 crypto.hmac.sha1 crypto.hmac.sha256 crypto.hmac.sha512 crypto.md5 crypto.sha1
	crypto.sha256 div endswith eq equal floor format_int glob.match glob.quote_meta graph.reachable
	graph.reachable_paths gt gte hex.decode hex.encode indexof indexof_n internal.member_2 internal.member_3
	internal.print internal.template_string internal.test_case intersection is_array is_boolean is_null is_number
	is_object is_set is_string json.filter json.is_valid json.marshal json.marshal_with_options json.match_schema
	json.patch json.remove json.unmarshal json.verify_schema lower lt lte max min minus mul neq net.cidr_contains
	net.cidr_contains_matches net.cidr_expand net.cidr_intersects net.cidr_is_valid net.cidr_merge net.cidr_overlap
	numbers.range numbers.range_step object.filter object.get object.keys object.remove object.subset object.union
	object.union_n or plus product re_match regex.find_all_string_submatch_n regex.find_n regex.globs_match
	regex.is_valid regex.match regex.replace regex.split regex.template_match rego.metadata.chain rego.metadata.rule
	rem replace round semver.compare semver.is_valid set_diff sort split sprintf startswith strings.any_prefix_match
	strings.any_suffix_match strings.count strings.render_template strings.replace_n strings.reverse strings.split_n
	substring sum time.add_date time.clock time.date time.diff time.format time.now_ns time.parse_duration_ns
	time.parse_ns time.parse_rfc3339_ns time.weekday to_number trim trim_left trim_prefix trim_right trim_space
	trim_suffix type_name union units.parse units.parse_bytes upper uri.is_valid uri.parse urlquery.decode
	urlquery.decode_object urlquery.encode urlquery.encode_object uuid.parse walk yaml.is_valid yaml.marshal
	yaml.unmarshal`)

// capabilities returns what the compiler may use.
func capabilities(v ast.RegoVersion) *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion(ast.CapabilitiesRegoVersion(v))
	c.Builtins = slices.DeleteFunc(slices.Clone(c.Builtins), func(b *ast.Builtin) bool { return !slices.Contains(builtins, b.Name) })
	c.AllowNet = []string{} // not nil: nil would allow every host
	return c
}
