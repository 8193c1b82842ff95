package classify

import "google.golang.org/protobuf/proto"

// All lists the messages of one type in m, m itself included, parents before what is below them: of two equal trees the lists correspond.
func All[T proto.Message](m proto.Message) []T { return all[T](m) }
