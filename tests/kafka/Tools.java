import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's tools one after the other in one virtual machine, each as if it had one of its own: its classes are loaded
 * anew, and what ends a process ends the tool. Most of the time that a tool takes alone is the start of its machine.
 *
 * <p>On standard input comes CLASS COUNT ARGUMENT... STDIN, on standard output goes STDOUT STDERR CODE; a text is its length
 * in four bytes and its bytes, a number four bytes.
 */
public final class Tools {
    private static final Sink out = new Sink();
    private static final Sink err = new Sink();
    private static final List<Runnable> hooks = new ArrayList<>();
    private static CompletableFuture<Integer> code;

    public static void main(String[] args) throws Exception {
        DataInputStream calls = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream answers = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out)));
        System.setOut(new PrintStream(out, true));
        System.setErr(new PrintStream(err, true));
        Exit.setExitProcedure((status, message) -> end(status));
        Exit.setHaltProcedure((status, message) -> end(status));
        Exit.setShutdownHookAdder((name, hook) -> {
            synchronized (hooks) {
                hooks.add(hook);
            }
        });
        while (true) {
            String tool = text(calls);
            String[] words = new String[calls.readInt()];
            for (int i = 0; i < words.length; i++) {
                words[i] = text(calls);
            }
            int status = run(tool, words, bytes(calls));
            write(answers, out.take());
            write(answers, err.take());
            answers.writeInt(status);
            answers.flush();
        }
    }

    private static int run(String tool, String[] words, byte[] input) throws Exception {
        System.setIn(new ByteArrayInputStream(input));
        hooks.clear();
        CompletableFuture<Integer> ended = code = new CompletableFuture<>();
        out.open();
        err.open();
        Thread main = new Thread(() -> {
            try {
                Class.forName(tool, true, Thread.currentThread().getContextClassLoader()).getMethod("main", String[].class).invoke(null, (Object) words);
                ended.complete(0);
            } catch (Throwable e) {
                System.err.print("Exception in thread \"main\" ");
                (e.getCause() == null ? e : e.getCause()).printStackTrace();
                ended.complete(1);
            }
        }, "main");
        main.setDaemon(true);
        main.setContextClassLoader(new Fresh());
        main.start();
        int status = ended.get();
        List<Runnable> last;
        synchronized (hooks) {
            last = List.copyOf(hooks);
        }
        last.forEach(Runnable::run);
        return status;
    }

    /** Does not return, as the end of a process does not: nothing that stands behind it happens. */
    private static void end(int status) {
        code.complete(status);
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static byte[] bytes(DataInputStream in) throws IOException {
        byte[] found = new byte[in.readInt()];
        in.readFully(found);
        return found;
    }

    private static String text(DataInputStream in) throws IOException {
        return new String(bytes(in), StandardCharsets.UTF_8);
    }

    private static void write(DataOutputStream to, byte[] text) throws IOException {
        to.writeInt(text.length);
        to.write(text);
    }

    /** The tools' own classes, which keep state in static fields. Those of the clients are shared, and warm. */
    private static final class Fresh extends URLClassLoader {
        Fresh() throws IOException {
            super(urls(), ClassLoader.getSystemClassLoader());
        }

        private static URL[] urls() throws IOException {
            List<URL> found = new ArrayList<>();
            for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
                found.add(new File(path).toURI().toURL());
            }
            return found.toArray(new URL[0]);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("org.apache.kafka.tools.") && !name.startsWith("kafka.")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                return known != null ? known : findClass(name);
            }
        }
    }

    /** Takes what is printed while a tool runs. What threads say that outlive it is nobody's. */
    private static final class Sink extends OutputStream {
        private ByteArrayOutputStream taken;

        synchronized void open() {
            taken = new ByteArrayOutputStream();
        }

        synchronized byte[] take() {
            byte[] all = taken.toByteArray();
            taken = null;
            return all;
        }

        @Override
        public synchronized void write(int b) {
            if (taken != null) {
                taken.write(b);
            }
        }

        @Override
        public synchronized void write(byte[] b, int from, int length) {
            if (taken != null) {
                taken.write(b, from, length);
            }
        }
    }
}
