/**
 * An external client that keeps its own record of acknowledged answers, and compares it with
 * balances and lines afterwards. It knows the plain JSON format and nothing else of the product.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Client, ConnectionLostError, LoadBound } from '../product/charge-client.ts'
import { FIRST_SID } from '../product/population.ts'

export interface ClientOptions {
  /** Prefix of all session ids. */
  name: string
  /** Connections, each with one session at a time. */
  clients: number
  subscribers: number
  /** The first of the subscribers; `FIRST_SID` by default. */
  firstSid?: number
}

export interface ClientSession {
  readonly id: string
  readonly sid: number
  /** Acknowledged bytes of reports. */
  usedBytes: number
  /** Bytes granted by the last answer: the usage of the next report. */
  grantedBytes: number
  isOpen: boolean
}

/** The fields of a line that a client reads. */
export interface ClientLine {
  session_id: string
  usagev: number
}

const REQUESTED_BYTES = 64 * 1024
const UPDATES = 6
const PATIENCE_MS = 60_000
const RETRY_MS = 100

interface Answer {
  returnCode: number
  grantedVolume: number
}

/** One or many clients, on as many connections; `run` and `finish` may alternate. */
export class ClientLedger {
  readonly sessions: ClientSession[] = []
  /** Answers that contradict earlier ones. */
  readonly complaints: string[] = []
  /** Acknowledged requests, and requests without an outcome (503, lost connections). */
  acknowledged = 0
  refused = 0
  /** Return codes of answers with status 503, and their counts. */
  readonly refusals = new Map<number, number>()
  /** Bounds the requests of `run`. */
  readonly bound = new LoadBound()
  #isRunning = false
  readonly #options: ClientOptions
  readonly #elements: Element[]

  constructor(options: ClientOptions) {
    this.#options = options
    this.#elements = Array.from({ length: options.clients }, () => new Element(this))
  }

  /** Charges as fast as answers arrive, until `stop`: unanswered requests then stay unknown. */
  async run(port: number): Promise<void> {
    this.#isRunning = true
    await Promise.all(this.#elements.map((element) => element.run(port, () => this.#isRunning)))
  }

  stop(): void {
    this.#isRunning = false
    this.bound.allow(Number.POSITIVE_INFINITY)
  }

  /** Repeats unanswered requests until they are answered, and releases open sessions. */
  async finish(port: number): Promise<void> {
    const until = performance.now() + PATIENCE_MS
    const isPatient = () => performance.now() < until
    await Promise.all(this.#elements.map((element) => element.finish(port, isPatient)))
  }

  open(): ClientSession {
    const index = this.sessions.length
    const { subscribers, firstSid = FIRST_SID } = this.#options
    const sid = firstSid + (index % subscribers)
    const id = `${this.#options.name}-${index}`
    const session = { id, sid, usedBytes: 0, grantedBytes: 0, isOpen: false }
    this.sessions.push(session)
    return session
  }

  /** Acknowledged bytes of each subscriber. */
  usedBySubscriber(): Map<number, number> {
    const used = new Map<number, number>()
    for (const { sid, usedBytes } of this.sessions) used.set(sid, (used.get(sid) ?? 0) + usedBytes)
    return used
  }

  /** The differences of lines and balances from what was acknowledged. */
  differences(lines: readonly ClientLine[], spent: ReadonlyMap<number, number>): string[] {
    const onLines = new Map<string, number>()
    for (const { session_id, usagev } of lines) {
      onLines.set(session_id, (onLines.get(session_id) ?? 0) + usagev)
    }
    const ofSessions = this.sessions.flatMap(({ id, sid, usedBytes }) => {
      const found = onLines.get(id) ?? 0
      return found === usedBytes
        ? []
        : [`${id} of ${sid}: ${found} on lines, acknowledged ${usedBytes}`]
    })
    const ofBalances = [...this.usedBySubscriber()].flatMap(([sid, used]) => {
      const found = spent.get(sid) ?? 0
      return found === used ? [] : [`subscriber ${sid}: ${found} spent, acknowledged ${used}`]
    })
    return [...this.complaints, ...ofSessions, ...ofBalances]
  }
}

interface Request {
  body: string
  usedBytes: number
  isLast: boolean
}

/** One connection: one request at a time, repeated until its outcome is known. */
class Element {
  readonly #clientLedger: ClientLedger
  #session: ClientSession | undefined
  #number = 0
  #pending: Request | undefined

  constructor(clientLedger: ClientLedger) {
    this.#clientLedger = clientLedger
  }

  async run(port: number, goesOn: () => boolean): Promise<void> {
    const client = new Client(port)
    while (goesOn()) {
      if (this.#pending === undefined) await this.#clientLedger.bound.turn()
      this.#pending ??= this.#next(this.#number === UPDATES)
      await this.#send(client, goesOn)
    }
    client.close()
  }

  async finish(port: number, isPatient: () => boolean): Promise<void> {
    const client = new Client(port)
    for (;;) {
      if (this.#pending === undefined) {
        if (this.#session?.isOpen !== true) break
        this.#pending = this.#next(true)
      }
      await this.#send(client, isPatient)
      if (!isPatient()) throw new Error(`no answer to ${this.#pending?.body}`)
    }
    client.close()
  }

  #next(isLast: boolean): Request {
    const isFirst = this.#session === undefined
    this.#session ??= this.#clientLedger.open()
    const { id: session_id, sid, grantedBytes: usedBytes } = this.#session
    const record_type = isFirst ? 'start_request' : isLast ? 'release_request' : 'update_request'
    const what = { record_type, session_id, request_num: this.#number, sid, rating_group: 10 }
    const volumes = {
      ...(isFirst ? {} : { used_usagev: usedBytes }),
      ...(isLast ? {} : { usagev: REQUESTED_BYTES }),
    }
    const body = JSON.stringify({ ...what, usaget: 'data', ...volumes })
    return { body, usedBytes: isFirst ? 0 : usedBytes, isLast: isLast && !isFirst }
  }

  async #send(client: Client, goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      const answer = await this.#clientLedger.bound.count(this.#ask(client))
      if (answer !== null) return this.#take(answer)
      this.#clientLedger.refused += 1
      await pause(RETRY_MS)
    }
  }

  async #ask(client: Client): Promise<Answer | null> {
    try {
      const { status, body } = await client.post((this.#pending as Request).body)
      const answer = JSON.parse(body) as Answer
      if (status === 200) return answer
      const { refusals } = this.#clientLedger
      refusals.set(answer.returnCode, (refusals.get(answer.returnCode) ?? 0) + 1)
      return null
    } catch (error) {
      if (error instanceof ConnectionLostError) return null
      throw error
    }
  }

  #take({ returnCode, grantedVolume }: Answer): void {
    const session = this.#session as ClientSession
    const { body, usedBytes, isLast } = this.#pending as Request
    this.#pending = undefined
    if (returnCode === 1) {
      this.#clientLedger.acknowledged += 1
      session.usedBytes += usedBytes
      session.grantedBytes = grantedVolume
      session.isOpen = !isLast
      this.#number += 1
    } else {
      this.#clientLedger.complaints.push(`${body}: ${returnCode}`)
      session.isOpen = false
    }
    if (session.isOpen) return
    this.#session = undefined
    this.#number = 0
  }
}
