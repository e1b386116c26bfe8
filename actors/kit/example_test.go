package kit_test

import (
	"fmt"

	"troupe/actors/kit"
)

// deposit asks an account to take an amount and answers with the balance after it.
type deposit struct {
	*kit.Reply[int]
	amount int
}

func (*deposit) MessageKind() string { return "Deposit" }

// account keeps its balance without a lock: it gets one message at a time.
type account struct{ balance int }

func (a *account) Receive(_ *kit.Context, m kit.Message) {
	switch m := m.(type) {
	case *deposit:
		a.balance += m.amount
		m.Give(a.balance)
	}
}

func Example() {
	order := kit.NewDeterministic(1) // on goroutines without it
	sys := kit.NewSystem(kit.Options{Dispatcher: order})
	ref := sys.Spawn("account", kit.Props{Kind: "account", New: func() kit.Behavior { return &account{} }})

	answer := func(balance int, err error) { fmt.Println(balance, err) }
	ref.Send(&deposit{amount: 10, Reply: kit.NewReply(answer)})
	ref.Send(&deposit{amount: 5, Reply: kit.NewReply(answer)})
	stopped := sys.Stop(ref)
	order.Run(100)
	<-stopped
	ref.Send(&deposit{amount: 1, Reply: kit.NewReply(answer)})
	// Output:
	// 10 <nil>
	// 15 <nil>
	// 0 actor has stopped
}
