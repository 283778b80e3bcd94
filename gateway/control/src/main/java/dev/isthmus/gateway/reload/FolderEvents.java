package dev.isthmus.gateway.reload;

import java.io.IOException;
import java.nio.file.ClosedWatchServiceException;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells that something has happened to some files, as far as the file system reports it in their folders (inotify on
 * Linux; not for changes that another host makes on a shared file system). What has changed is found out by reading.
 * Other files of the folders do not count, a log for instance.
 */
final class FolderEvents implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(FolderEvents.class);

    /** Between looks, so that a log in such a folder does not wake the thread for each line. */
    private static final long PAUSE_MILLIS = 100;

    private static final WatchEvent.Kind<?>[] KINDS = {
        StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_MODIFY, StandardWatchEventKinds.ENTRY_DELETE
    };

    private final Runnable happened;
    private final @Nullable WatchService service;
    private final Map<Path, WatchKey> keys = new HashMap<>();
    private volatile Set<Path> names = Set.of();

    /** @param happened called on a thread of its own; must not block */
    FolderEvents(Runnable happened) {
        this.happened = happened;
        service = open();
        if (service != null) {
            Thread thread = new Thread(() -> listen(service), "isthmus-config-events");
            thread.setDaemon(true);
            thread.start();
        }
    }

    private static @Nullable WatchService open() {
        try {
            return FileSystems.getDefault().newWatchService();
        } catch (IOException e) {
            // Usually the limit of inotify instances of the user.
            LOG.debug("file events are not available, changes are found by polling only", e);
            return null;
        }
    }

    private void listen(WatchService from) {
        try {
            while (true) {
                WatchKey key = from.take();
                boolean concerned = key.pollEvents().stream().anyMatch(this::concerns);
                key.reset();
                if (concerned) {
                    happened.run();
                }
                Thread.sleep(PAUSE_MILLIS);
            }
        } catch (InterruptedException | ClosedWatchServiceException e) {
            // Closed.
            return;
        }
    }

    /** Whether it may be one of the files, or the link by which Kubernetes replaces all files of a folder. */
    private boolean concerns(WatchEvent<?> event) {
        return !(event.context() instanceof Path name) || name.toString().startsWith("..") || names.contains(name);
    }

    /** Watches these files, and no others. Called by one thread. */
    void watch(Collection<Path> files) {
        if (service == null) {
            return;
        }
        Set<Path> own = new HashSet<>();
        Set<Path> folders = new HashSet<>();
        for (Path file : files) {
            Path folder = file.toAbsolutePath().getParent();
            Path name = file.getFileName();
            if (folder != null && name != null) {
                folders.add(folder);
                own.add(name);
            }
        }
        names = Set.copyOf(own);
        for (Path gone : Set.copyOf(keys.keySet())) {
            WatchKey key = keys.get(gone);
            if (key != null && (!folders.contains(gone) || !key.isValid())) {
                key.cancel();
                keys.remove(gone);
            }
        }
        for (Path folder : folders) {
            keys.computeIfAbsent(folder, each -> register(service, each));
        }
    }

    private static @Nullable WatchKey register(WatchService service, Path folder) {
        try {
            return folder.register(service, KINDS);
        } catch (IOException | ClosedWatchServiceException e) {
            LOG.debug("no file events of folder '{}'", folder, e);
            return null;
        }
    }

    @Override
    public void close() {
        if (service != null) {
            try {
                service.close();
            } catch (IOException e) {
                LOG.debug("file events cannot be closed", e);
            }
        }
    }
}
