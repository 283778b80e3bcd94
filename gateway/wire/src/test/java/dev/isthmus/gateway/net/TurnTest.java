package dev.isthmus.gateway.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.ManualIoEventLoop;
import io.netty.channel.local.LocalIoHandler;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Connections of one event loop, whose parts take time on a manual clock. */
class TurnTest {
    private final MockTicker clock = Ticker.newMockTicker();
    private final ManualIoEventLoop loop =
            new ManualIoEventLoop(null, Thread.currentThread(), LocalIoHandler.newFactory(), clock);
    private final List<String> order = new ArrayList<>();

    /** A connection with parts to handle. */
    private final class Connection {
        private final String name;
        private final long micros;
        private final Turn turn = new Turn(loop, this::take);
        private int left;
        private int taken;

        Connection(String name, long micros) {
            this.name = name;
            this.micros = micros;
        }

        int read(int parts) {
            left += parts;
            int before = taken;
            if (!turn.over()) {
                take();
                turn.readComplete();
            }
            return taken - before;
        }

        private void take() {
            order.add(name);
            while (left > 0 && !turn.over()) {
                left--;
                taken++;
                clock.advance(micros, TimeUnit.MICROSECONDS);
                turn.took();
            }
        }
    }

    /** One iteration of the event loop: polls the sockets, then runs due tasks. */
    private List<String> nextTurn() {
        order.clear();
        loop.runNow();
        return List.copyOf(order);
    }

    @Test
    void fewParts_areTakenAtOnce() {
        Connection slow = new Connection("a", 10_000);
        for (int i = 0; i < 10; i++) {
            assertThat(slow.read(8)).isEqualTo(8);
            assertThat(slow.turn.over()).isFalse();
        }
    }

    @Test
    void partsWithoutTime_areTakenUpToTheMost() {
        Connection fast = new Connection("a", 0);
        assertThat(fast.read(Turn.MOST - 1)).isEqualTo(Turn.MOST - 1);
        assertThat(fast.turn.over()).isFalse();
        assertThat(fast.read(2 * Turn.MOST)).isEqualTo(Turn.MOST);
        assertThat(fast.turn.over()).isTrue();
    }

    @Test
    void timeThatIsUp_endsATurn_butNotTheFirstParts() {
        Connection connection = new Connection("a", 100);
        // The clock is checked after the eighth part.
        assertThat(connection.read(1_000)).isEqualTo(16);
        nextTurn();
        assertThat(connection.taken).isEqualTo(16 + 8);
        nextTurn();
        assertThat(connection.taken).isEqualTo(16 + 8 + 8);
    }

    @Test
    void whatIsLeftOver_goesOnByItself() {
        Connection connection = new Connection("a", 10);
        connection.read(1_000);
        while (loop.runNow() > 0) {
            assertThat(connection.taken).isLessThanOrEqualTo(1_000);
        }
        assertThat(connection.left).isZero();
        assertThat(connection.turn.over()).isFalse();
    }

    @Test
    void connections_shareOneTurn() {
        List<Connection> all = new ArrayList<>();
        for (String name : List.of("a", "b", "c", "d", "e", "f")) {
            Connection connection = new Connection(name, 30);
            connection.read(1_000);
            all.add(connection);
        }
        // The first connection has a full turn, the others only the minimum of parts.
        assertThat(all).extracting(each -> each.taken).containsExactly(16, 8, 8, 8, 8, 8);
        assertThat(nextTurn()).containsExactly("a");
        assertThat(nextTurn()).containsExactly("b");
        long before = clock.nanoTime();
        assertThat(nextTurn()).containsExactly("c");
        assertThat(clock.nanoTime() - before).isLessThan(2 * Turn.NANOS);
    }

    @Test
    void connectionsWithLittleLeftOver_areHandledInOneTurn() {
        Connection first = new Connection("a", 100);
        first.read(17);
        Connection second = new Connection("b", 100);
        second.read(9);
        assertThat(nextTurn()).containsExactly("a", "b");
        assertThat(first.left + second.left).isZero();
    }

    @Test
    void whatIsCostly_givesWayToOthers() {
        Connection first = new Connection("a", 100);
        first.turn.giveWay();
        assertThat(first.read(17)).isEqualTo(16);
        Connection second = new Connection("b", 100);
        second.turn.giveWay();
        assertThat(second.read(1)).isZero();
        assertThat(nextTurn()).containsExactly("a", "b");
        assertThat(first.left + second.left).isZero();
    }

    @Test
    void whatIsReadWhileAConnectionWaits_isLeftOverToo() {
        Connection connection = new Connection("a", 100);
        connection.read(17);
        assertThat(connection.read(3)).isZero();
        nextTurn();
        assertThat(connection.left).isZero();
        assertThat(connection.read(3)).isEqualTo(3);
    }
}
