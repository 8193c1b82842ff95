package main

import "time"

// Config is the configuration file. Every key has a default but catalogs and policy; docs/configuration.md is made from
// the comments here.
type Config struct {
	Listen   ListenConfig             `yaml:"listen"`
	TLS      TLSConfig                `yaml:"tls"`
	Auth     AuthConfig               `yaml:"auth"`
	Catalogs map[string]CatalogConfig `yaml:"catalogs"`
	Policy   PolicyConfig             `yaml:"policy"`
	Grants   GrantsConfig             `yaml:"grants"`
	Executor ExecutorConfig           `yaml:"executor"`
	Audit    AuditConfig              `yaml:"audit"`
	Limits   LimitsConfig             `yaml:"limits"`
	Session  SessionConfig            `yaml:"session"`

	// example is set by "gatehouse demo" alone: no file can set it. It allows the example users, on loopback.
	example bool
}

// ListenConfig says where the process listens. An address that is not loopback needs TLS.
type ListenConfig struct {
	Flight string `yaml:"flight"` // Flight SQL; default 127.0.0.1:31337
	HTTP   string `yaml:"http"`   // /healthz, /readyz, /metrics; default 127.0.0.1:31338; "off" for none
}

// TLSConfig names PEM files, which are read again when they change.
type TLSConfig struct {
	Cert     string `yaml:"cert"`      // certificate chain
	Key      string `yaml:"key"`       // its private key
	ClientCA string `yaml:"client_ca"` // if set, clients must show a certificate of this authority
}

// AuthConfig says who may sign in. At least one of users_file and oidc is needed.
type AuthConfig struct {
	UsersFile string        `yaml:"users_file"` // users with argon2id hashes; see "gatehouse user add"
	OIDC      []OIDCConfig  `yaml:"oidc"`       // token issuers
	Idle      time.Duration `yaml:"idle"`       // a session ends after this time without use; default 8h, since most drivers cannot sign in again
	Absolute  time.Duration `yaml:"absolute"`   // a session ends after this time; default 24h
	TaskKey   string        `yaml:"task_key"`   // PEM file of an Ed25519 key for task credentials; default: a new one at each start
}

// OIDCConfig is one issuer of tokens.
type OIDCConfig struct {
	Issuer         string   `yaml:"issuer"`          // its URL, exactly as in "iss"; https, or http on loopback
	Audience       []string `yaml:"audience"`        // one of these must be in "aud"
	Algorithms     []string `yaml:"algorithms"`      // default RS256, ES256
	User           string   `yaml:"user"`            // claim of the user name; default preferred_username
	Groups         string   `yaml:"groups"`          // claim of the groups, dots for nested ones; default groups
	Roles          string   `yaml:"roles"`           // claim of the roles, for example realm_access.roles; default none
	Claims         []string `yaml:"claims"`          // claims that policies may see
	PasswordClient string   `yaml:"password_client"` // client id for the password grant, so that tools with user and password work; default off
	PasswordSecret string   `yaml:"password_secret"` // file with that client's secret
}

// CatalogConfig is one Iceberg catalog. The key in the file is its name in SQL.
type CatalogConfig struct {
	Type         string   `yaml:"type"`          // sql or rest
	URI          string   `yaml:"uri"`           // rest: base URL; sql: path of a SQLite file, or file with a PostgreSQL connection string as postgres:FILE
	Catalog      string   `yaml:"catalog"`       // sql: the catalog's name in the database; default the key
	Warehouse    string   `yaml:"warehouse"`     // rest: the warehouse to ask for
	Roots        []string `yaml:"roots"`         // local folders, and places in the object store as s3://BUCKET/PREFIX, below which files may be read; sql on SQLite: default the file's folder
	ServiceToken string   `yaml:"service_token"` // rest: file with a token for users who have none of their own; default: they are refused
	S3           S3Config `yaml:"s3"`            // the object store of the roots that begin with s3://
}

// S3Config is the object store in which a catalog's tables lie: Amazon S3, or one with the same interface. Neither keys nor places are taken from the
// environment or from the machine's provider.
type S3Config struct {
	Endpoint     string `yaml:"endpoint"`               // https://HOST:PORT, or http on loopback; default Amazon's of the region
	Region       string `yaml:"region"`                 // needed without endpoint; with one, default us-east-1 or what the catalog says
	PathStyle    bool   `yaml:"path_style"`             // buckets stand in the path and not in the host's name, as most stores other than Amazon's want it; default false
	CA           string `yaml:"ca"`                     // PEM file of the authorities of the store's certificate; default those of the system
	Credentials  string `yaml:"credentials"`            // vended: the catalog gives them for each caller and table; keys: those below, for all callers; default vended for rest, keys for sql
	KeyID        string `yaml:"access_key_id"`          // keys: the id of the access key
	KeyIDFile    string `yaml:"access_key_id_file"`     // keys: file with it, for keys that are renewed
	SecretFile   string `yaml:"secret_access_key_file"` // keys: file with the secret access key; read again when it changes
	SessionToken string `yaml:"session_token_file"`     // keys: file with the session token, if they are temporary; read again when it changes
}

// PolicyConfig says where the Rego is: dir or bundle.
type PolicyConfig struct {
	Dir         string        `yaml:"dir"`           // folder, watched for changes
	Bundle      BundleConfig  `yaml:"bundle"`        // OPA bundle server
	Rego        string        `yaml:"rego"`          // v1, v0 or auto; default v1
	Lenient     bool          `yaml:"lenient"`       // accept policies that do not match the input schema; default false
	Names       string        `yaml:"names"`         // exact: the policy is asked in the names that catalogs have; lower: in lower case, as Trino does; default exact, with lenient lower
	Prefer      string        `yaml:"prefer"`        // batch: ask batch rules where both forms exist
	Timeout     time.Duration `yaml:"timeout"`       // of one decision; default 2s
	Steady      bool          `yaml:"steady"`        // no part of a statement decides what is read of a table with hidden rows or values; slower, see security.md; default false
	Shadow      string        `yaml:"shadow"`        // folder of a candidate policy that is asked beside the one in force; differences go to the log and metrics alone
	HashKeyFile string        `yaml:"hash_key_file"` // file with the key of gw_hash masks, at least 32 bytes; without it they are refused
}

// GrantsConfig says where GRANT and the like are kept: file or postgres. Without this section these statements are refused.
type GrantsConfig struct {
	File      string `yaml:"file"`       // SQLite file, for one gateway; made if it is not there
	Postgres  string `yaml:"postgres"`   // file with a PostgreSQL connection string, for several gateways
	AdminRole string `yaml:"admin_role"` // the role whose members may change every right; the sign-in gives it
	Issuer    string `yaml:"issuer"`     // with several ways to sign in, whose users are named by their name alone: an issuer's URL, or gatehouse:users for the users file
}

// BundleConfig is an OPA bundle server.
type BundleConfig struct {
	URL       string        `yaml:"url"`        // of the bundle
	TokenFile string        `yaml:"token_file"` // file with a bearer token
	KeyFile   string        `yaml:"key_file"`   // PEM public key that signs the bundles
	Algorithm string        `yaml:"algorithm"`  // of the signature; default RS256
	Poll      time.Duration `yaml:"poll"`       // default 10s
	MaxAge    time.Duration `yaml:"max_age"`    // without a good answer for so long, nothing is allowed; default 1h
}

// ExecutorConfig says what runs statements, and bounds the embedded engine.
type ExecutorConfig struct {
	Type    string   `yaml:"type"`    // duckdb (the embedded engine, default), ballista (a cluster), or auto (the cluster for what it can run and is large, the engine for the rest)
	Choices []string `yaml:"choices"` // what sessions may choose with SET executor; default: with auto all three, else nothing but the type
	Cluster string   `yaml:"cluster"` // folder of the cluster's certificates and keys; default cluster beside the configuration
	Above   string   `yaml:"above"`   // with auto: what reads less than this runs in the embedded engine; default 1GiB
	Memory  string   `yaml:"memory"`  // for the engine, all users together, such as 4GiB; default 60 % of what the process may use
	Process string   `yaml:"process"` // what the process may hold before its largest statements end; default a quarter above memory and 1GiB, at most 90 % of what there is
	Dir     string   `yaml:"dir"`     // folder for spill files and links, best on the file system of the data; default run beside the configuration
	Spill   string   `yaml:"spill"`   // largest size of the spill files; default twice the memory
	Copies  string   `yaml:"copies"`  // largest size of what is kept in dir of object stores' files, and of files that cannot be linked; default 16GiB
	Threads int      `yaml:"threads"` // for the statements of one user, of which so many work at once; default the number of processors
}

// AuditConfig says where the audit log is written.
type AuditConfig struct {
	File string `yaml:"file"` // one JSON object a line; default audit.jsonl beside the configuration
	Sync bool   `yaml:"sync"` // wait for the disk at every line; default false
}

// LimitsConfig bounds what users may do.
type LimitsConfig struct {
	Statement  time.Duration `yaml:"statement"`   // longest run of one statement; default 10m, with a cluster at most 1h
	PerUser    int           `yaml:"per_user"`    // statements of one user at once; default 32
	Total      int           `yaml:"total"`       // statements at once; default 256
	ResultRows int64         `yaml:"result_rows"` // rows of one result; default 0: unlimited
	ResultSize string        `yaml:"result_size"` // bytes of one result, such as 10GiB; default unlimited
	UserMemory string        `yaml:"user_memory"` // what the statements of one user hold in the engine, together; default half of executor.memory
	UserSpill  string        `yaml:"user_spill"`  // spill files of one user; default half of executor.spill
}

// SessionConfig is where unqualified names resolve.
type SessionConfig struct {
	Catalog string `yaml:"catalog"` // default: the only catalog, if there is one
	Schema  string `yaml:"schema"`
}
