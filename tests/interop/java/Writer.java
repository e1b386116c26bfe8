import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A producer with the client's own settings: BOOTSTRAP TOPIC REST_MS. It sends numbered lines, one each REST_MS milliseconds,
 * until standard input ends. Printed are "PARTITION OFFSET LINE" for each that was acknowledged, "failed ERROR" for each that
 * was given up, and "sent NUMBER" at the end.
 */
public final class Writer {
    public static void main(String[] args) throws Exception {
        AtomicBoolean over = new AtomicBoolean();
        Thread end = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    // what comes in says nothing
                }
            } catch (java.io.IOException e) {
                System.out.println("failed " + e);
            }
            over.set(true);
        });
        end.setDaemon(true);
        end.start();
        long sent = 0;
        Map<String, Object> config = Map.of("bootstrap.servers", args[0]);
        try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            for (; !over.get(); sent++) {
                String line = Long.toString(sent);
                producer.send(new ProducerRecord<>(args[1], line), (where, error) -> {
                    if (error != null) {
                        System.out.println("failed " + error);
                    } else {
                        System.out.println(where.partition() + " " + where.offset() + " " + line);
                    }
                });
                Thread.sleep(Long.parseLong(args[2]));
            }
        }
        System.out.println("sent " + sent);
    }
}
