/**
 * Viewers of the console without a browser: HTTP clients of the admin process that log in and call
 * what the pages call, as often as the pages do. What a browser does with the answers is not
 * measured here, so bodies are read and dropped.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, type Dispatcher, request } from 'undici'
import { aidOf, FIRST_SID } from '../../test/support/product/population.ts'

export interface Viewer {
  /** Whole answers, and samples of the stream. */
  readonly answers: number
  readonly samples: number
  /** Answers with another status than 200, and interrupted calls. */
  readonly faults: readonly string[]
  /** Ends the stream and waits for calls under way. */
  stop(): Promise<void>
}

export interface ViewerOptions {
  /** Address of the admin process. */
  readonly url: string
  /** Cookie of a login session. */
  readonly cookie: string
}

/** A browser opens as many to one host. */
const CONNECTIONS = 6
const POLL_MS = 2_000
/** After this time the viewer of customers opens the next one. */
const CUSTOMER_MS = 3_000
const TOO_MANY = 429

/** Chromium sends this, so the node may compress. */
const BROWSER = { 'accept-encoding': 'gzip, deflate, br, zstd' }

/** The page Overview: a stream of samples, or polls if the session has two streams already. */
export function viewOverview(options: ViewerOptions): Viewer {
  const client = new PageClient(options)
  return client.run(async () => {
    await client.openFrame()
    await Promise.all([client.get('api/live/history?from=0'), followSamples(client)])
  })
}

/** A stream of samples without the rest of the page. */
export function viewStream(options: ViewerOptions): Viewer {
  const client = new PageClient(options)
  return client.run(() => followSamples(client))
}

/** The page Customer: opens one subscriber after the other, each of an account of its own. */
export function viewCustomers(options: ViewerOptions, subscribers: number, first: number): Viewer {
  const client = new PageClient(options)
  return client.run(async () => {
    await client.openFrame()
    for (let index = first; !client.isStopped; index += 1) {
      await client.openCustomer(index % subscribers)
      await client.wait(CUSTOMER_MS)
    }
  })
}

/** Calls of the page Customer for a subscriber, as `bench/console/pages.ts` compares them. */
export const CUSTOMER_CALLS = [
  'billapi/subscribers/get',
  'billapi/balances/get',
  'billapi/balances/get',
  'api/sessions',
  'billapi/lines/get',
] as const

async function followSamples(client: PageClient): Promise<void> {
  const isStream = await client.stream('api/live')
  while (!isStream && !client.isStopped) {
    await client.get('api/live')
    await client.wait(POLL_MS)
  }
}

class PageClient implements Viewer {
  answers = 0
  samples = 0
  readonly faults: string[] = []
  readonly #base: string
  readonly #headers: Record<string, string>
  readonly #agent = new Agent({ connections: CONNECTIONS })
  readonly #stopped = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor({ url, cookie }: ViewerOptions) {
    this.#base = url.endsWith('/') ? url : `${url}/`
    this.#headers = { ...BROWSER, cookie }
  }

  get isStopped(): boolean {
    return this.#stopped.signal.aborted
  }

  run(work: () => Promise<void>): Viewer {
    this.#running = work().catch((error: unknown) => this.#fault(String(error)))
    return this
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
    await this.#agent.close()
  }

  /** Ends early when the viewer stops. */
  async wait(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#stopped.signal }).catch(() => undefined)
  }

  /** The page itself, the files that it names, and the calls of the frame. */
  async openFrame(): Promise<void> {
    const { body } = await this.#send('GET', '', { 'accept-encoding': 'identity' })
    const page = await body.text()
    this.answers += 1
    const files = [...page.matchAll(/(?:src|href)="(?:\.\/)?(console\/[^"]+)"/g)]
    await Promise.all(files.map(([, file = '']) => this.get(file)))
    await Promise.all([this.get('auth/login'), this.get('api/clock')])
  }

  async openCustomer(index: number): Promise<void> {
    const [sid, aid] = [FIRST_SID + index, aidOf(index, 1)]
    const [revisions, balances, shared, sessions, lines] = CUSTOMER_CALLS
    await this.#post(revisions, { query: { sid }, sort: { from: 1 }, size: 1_000 })
    await Promise.all([
      this.#post(balances, { query: { sid } }),
      this.#post(shared, { query: { aid, sid: 0 } }),
      this.get(`${sessions}?aid=${aid}&sid=${sid}&size=100`),
      this.#post(lines, { query: { sid }, sort: { urt: -1, _id: -1 }, size: 100 }),
    ])
  }

  async get(path: string): Promise<void> {
    const { statusCode, body } = await this.#send('GET', path)
    await body.dump({ limit: Number.MAX_SAFE_INTEGER })
    this.#count(path, statusCode)
  }

  async #post(path: string, content: object): Promise<void> {
    const headers = { 'content-type': 'application/json' }
    const { statusCode, body } = await this.#send('POST', path, headers, JSON.stringify(content))
    await body.dump({ limit: Number.MAX_SAFE_INTEGER })
    this.#count(path, statusCode)
  }

  /** Reads until the viewer stops; false if the session has too many streams. */
  async stream(path: string): Promise<boolean> {
    const answer = await this.#send('GET', path, { accept: 'text/event-stream' })
    if (answer.statusCode === TOO_MANY) {
      await answer.body.dump()
      return false
    }
    this.#count(path, answer.statusCode)
    const end = () => answer.body.destroy()
    this.#stopped.signal.addEventListener('abort', end)
    try {
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        if (chunk.includes('event: sample')) this.samples += 1
      }
    } catch (error) {
      if (!this.isStopped) throw error
    }
    if (!this.isStopped) this.#fault(`${path}: the stream has ended`)
    return true
  }

  #send(
    method: Dispatcher.HttpMethod,
    path: string,
    headers: Record<string, string> = {},
    body?: string,
  ): Promise<Dispatcher.ResponseData> {
    return request(`${this.#base}${path}`, {
      method,
      headers: { ...this.#headers, ...headers },
      dispatcher: this.#agent,
      ...(body !== undefined && { body }),
    })
  }

  #count(path: string, status: number): void {
    this.answers += 1
    if (status !== 200) this.#fault(`${path}: HTTP ${status}`)
  }

  #fault(text: string): void {
    this.faults.push(text)
  }
}
