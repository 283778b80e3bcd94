package dev.isthmus.bench.faults;

import io.netty.channel.EventLoop;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/** Plays scenarios, each with a fleet of its own. */
record Play(Options options, EventLoop loop) {
    private static final int WARM_SECONDS = 3;

    Row play(Scenario scenario, Front front) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("isthmus-faults");
        try (Children children = new Children()) {
            Fleet fleet = new Fleet(children, folder, scenario.serviceMicros());
            fleet.startGateway(options.home(), scenario.config(fleet.configs()));
            try (Client client = front.client(loop, fleet.configs().port(), Options.CLIENT_LIMIT_MILLIS)) {
                warm(client);
                Tally tally = new Tally();
                Verdict verdict = scenario.play(new Stage(options, fleet, client, tally));
                return Row.played(scenario.name(), front, tally, fleet.ledgers(), verdict);
            }
        } catch (ScenarioException e) {
            return Row.unplayed(scenario.name(), front, String.valueOf(e.getMessage()));
        } finally {
            delete(folder);
        }
    }

    /** Half the rate first, so that the figures are not those of a JVM that has just started. */
    private void warm(Client client) throws InterruptedException, ScenarioException {
        Tally tally = new Tally();
        int perSecond = Math.max(1, options.rate() / 2);
        new Load(client, tally, System::nanoTime, false)
                .open(perSecond, options.brief() ? perSecond : perSecond * WARM_SECONDS);
        if (tally.okCount() == 0) {
            throw new ScenarioException("nothing was answered before the fault: " + tally.failuresByText());
        }
    }

    private static void delete(Path folder) throws IOException {
        Files.walkFileTree(folder, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path emptied, @Nullable IOException problem) throws IOException {
                Files.delete(emptied);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
