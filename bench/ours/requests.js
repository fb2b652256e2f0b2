/**
 * Sends as many requests as the client's limiter allows, for some seconds, and prints how many there were.
 * node bench/ours/requests.js BASE_URL REQUESTS_PER_SECOND SECONDS
 */
import { openPredictionApi } from '../../dist/src/api/open-prediction-api.js';
import { RateLimiter } from '../../dist/src/api/rate-limiter.js';
import { TOKEN } from '../job.js';
import { mostInASecond } from '../waiting/sliding-second.js';

const [baseUrl, rate, seconds] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const limiter = new RateLimiter(rate);
const sent = [];
const nothing = () => undefined;
const minute = 60_000;
const api = openPredictionApi({
  baseUrl,
  legacyBaseUrl: null,
  token: { reveal: () => TOKEN },
  tokenIn: 'query',
  requestsPerSecond: rate,
  limiter: {
    wait: async (...given) => {
      const written = await limiter.wait(...given);
      let isSent = false;
      return () => {
        if (!isSent) sent.push(performance.now());
        isSent = true;
        written();
      };
    },
    pause: (time) => limiter.pause(time),
  },
  timeouts: { connect: minute, idle: minute, upload: minute, shutdown: minute },
  retry: { first: 500, max: minute, giveUpAfter: minute },
  lostAfter: minute,
  logger: { debug: nothing, info: nothing, warn: nothing },
});

const stop = new AbortController();
const askOn = async () => {
  while (!stop.signal.aborted) await api.track('0', stop.signal);
};
// Enough of them that the limiter alone decides: replies take some ms.
const asking = Array.from({ length: Math.max(20, rate / 10) }, () => askOn().catch(nothing));
while (sent.length === 0 || performance.now() - sent[0] < 1000 * seconds) {
  await new Promise((resolve) => setTimeout(resolve, 20));
}
stop.abort();
await Promise.all(asking);
await api.close();
const counted = sent.filter((at) => at - sent[0] < 1000 * seconds).length;
console.log(JSON.stringify({ reached: counted / (rate * seconds), mostInASecond: mostInASecond(sent) }));
