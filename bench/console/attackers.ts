/**
 * Thread with clients of the control plane that have no session. Each has an address of its own on
 * loopback (Linux), and sends the next request as soon as it has the answer, whatever that is.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { Client, type Dispatcher } from 'undici'

export interface Attack {
  readonly origin: string
  readonly addresses: readonly string[]
  readonly request: Pick<Dispatcher.RequestOptions, 'path' | 'method' | 'headers' | 'body'>
}

/** Answers by status; interrupted requests under 0. */
export type AttackAnswers = Readonly<Record<number, number>>

/** Runs until a message arrives, and then answers by `AttackAnswers`. */
async function attack({ origin, addresses, request }: Attack): Promise<void> {
  const answers: Record<number, number> = {}
  let isStopped = false
  parentPort?.once('message', () => {
    isStopped = true
  })
  const drive = async (localAddress: string) => {
    const client = new Client(origin, { localAddress })
    while (!isStopped) {
      const status = await client.request(request).then(
        async ({ statusCode, body }) => {
          await body.dump({ limit: Number.MAX_SAFE_INTEGER })
          return statusCode
        },
        () => 0,
      )
      answers[status] = (answers[status] ?? 0) + 1
    }
    await client.destroy()
  }
  parentPort?.postMessage('begun')
  await Promise.all(addresses.map(drive))
  parentPort?.postMessage(answers)
}

await attack(workerData as Attack)
