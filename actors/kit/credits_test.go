package kit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"troupe/actors/kit"
)

func TestCreditsAreBoundedButARequestLargerThanAllPassesAlone(t *testing.T) {
	c := kit.NewCredits(100)
	steps := []struct {
		acquire, release int64
		ok               bool
	}{
		{acquire: 60, ok: true},
		{acquire: 41},
		{acquire: 40, ok: true},
		{release: 100},
		{acquire: 500, ok: true}, // alone
		{acquire: 1},
		{release: 500},
		{acquire: 1, ok: true},
		{acquire: 500},
	}
	for i, step := range steps {
		if step.release > 0 {
			c.Release(step.release)
			continue
		}
		if ok := c.TryAcquire(step.acquire); ok != step.ok {
			t.Fatalf("step %d: acquiring %d with %d out gave %v", i, step.acquire, c.Used(), ok)
		}
	}
}

func TestCreditsAreGivenInTheOrderAskedFor(t *testing.T) {
	c := kit.NewCredits(10)
	if !c.TryAcquire(10) {
		t.Fatal("nothing is out yet")
	}
	got := make(chan int64, 2)
	wait := func(n int64) chan struct{} {
		asked := make(chan struct{})
		ctx := &askedContext{Context: context.Background(), asked: asked}
		go func() {
			if err := c.Acquire(ctx, n); err != nil {
				t.Errorf("acquire: %v", err)
			}
			got <- n
		}()
		return asked
	}
	<-wait(8)
	<-wait(1)
	c.Release(1)
	if c.TryAcquire(1) {
		t.Fatal("one who came later overtook those who wait")
	}
	c.Release(9)
	if sum := <-got + <-got; sum != 9 || c.Used() != 9 {
		t.Fatalf("granted %d, out are %d, want 9", sum, c.Used())
	}
}

// askedContext tells when Acquire has come to waiting, which is when it looks at Done.
type askedContext struct {
	context.Context
	asked chan struct{}
}

func (c *askedContext) Done() <-chan struct{} {
	close(c.asked)
	return c.Context.Done()
}

func TestGivingUpTheWaitForCreditsLetsOthersPass(t *testing.T) {
	c := kit.NewCredits(10)
	c.TryAcquire(5)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Acquire(ctx, 8); !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
	if !c.TryAcquire(5) || c.Used() != 10 {
		t.Fatalf("the abandoned wait still counts: %d out", c.Used())
	}
}

// granting is a context that ends at the moment at which the credits come.
type granting struct {
	context.Context
	grant func()
}

func (g granting) Done() <-chan struct{} {
	g.grant()
	return g.Context.Done()
}

func TestCreditsThatComeWhenTheWaitIsGivenUpAreNotLost(t *testing.T) {
	c := kit.NewCredits(10)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	gaveUp := 0
	for range 200 { // select chooses between the two at random
		c.TryAcquire(10)
		if err := c.Acquire(granting{ended, func() { c.Release(10) }}, 4); err != nil {
			gaveUp++
		} else {
			c.Release(4)
		}
		if c.Used() != 0 {
			t.Fatalf("%d credits are lost", c.Used())
		}
	}
	if gaveUp == 0 || gaveUp == 200 {
		t.Fatalf("gave up %d times of 200: the scenario did not come up", gaveUp)
	}
}

func TestCreditsHoldUnderContention(t *testing.T) {
	c := kit.NewCredits(7)
	var out, most atomic.Int64
	var wg sync.WaitGroup
	take := func(n int64, giveUp bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if giveUp {
			go cancel()
		}
		if c.Acquire(ctx, n) != nil {
			return
		}
		now := out.Add(n)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		out.Add(-n)
		c.Release(n)
	}
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				take(int64((g+i)%5+1), i%10 == 9)
			}
		})
	}
	wg.Wait()
	if most.Load() > 7 || c.Used() != 0 {
		t.Fatalf("%d were out at once, %d are left", most.Load(), c.Used())
	}
}

func TestWhatIsChargedHoldsBackThoseWhoAcquire(t *testing.T) {
	c := kit.NewCredits(10)
	c.Charge(25)
	if c.TryAcquire(1) {
		t.Fatal("1 of 10 was given while 25 are charged")
	}
	c.Release(16)
	if !c.TryAcquire(1) {
		t.Fatal("1 of 10 was refused with 9 out")
	}
	if c.TryAcquire(1) {
		t.Fatal("an eleventh credit was given")
	}
}
