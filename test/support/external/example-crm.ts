/** The example of a customer system (examples/crm) on a free port, which tests can disturb. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { answerOf } from '../../../examples/crm/crm.mjs'
import { choosePort } from '../product/ports.ts'

type Fields = Record<string, unknown>

export interface CrmRequest {
  readonly path: string
  readonly body: Fields
  readonly contentType: string
}

/** Answers in place of the example; returns false to let it answer. */
export type Disturb = (request: CrmRequest, response: ServerResponse) => boolean

export interface Crm {
  readonly url: string
  /** Revisions of accounts and subscribers; may be changed. */
  readonly revisions: Fields[]
  readonly asked: CrmRequest[]
  disturb: Disturb | null
  /** Ends it with its connections; requests are refused. */
  stop(): Promise<void>
  /** Starts it again on the same port. */
  start(): Promise<void>
}

export async function startCrm(revisions: readonly Fields[]): Promise<Crm> {
  let server: Server | null = null
  const port = await choosePort()
  const crm: Crm = {
    url: `http://127.0.0.1:${port}`,
    revisions: [...revisions],
    asked: [],
    disturb: null,
    async start() {
      server = createServer((request, response) => void serve(crm, request, response))
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
    async stop() {
      const stopped = server
      server = null
      stopped?.closeAllConnections()
      await new Promise((resolve) => (stopped === null ? resolve(null) : stopped.close(resolve)))
    },
  }
  await crm.start()
  return crm
}

async function serve(crm: Crm, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk as string
  const { url: path = '', headers } = request
  const contentType = headers['content-type'] ?? ''
  const isForm = contentType.includes('form')
  const body = (isForm ? Object.fromEntries(new URLSearchParams(text)) : JSON.parse(text)) as Fields
  const asked = { path, body, contentType }
  crm.asked.push(asked)
  if (crm.disturb?.(asked, response) === true) return
  sendJson(response, answerOf(path, isForm ? numbered(body) : body, crm.revisions))
}

/** Fields of forms are texts. */
function numbered({ page, size, ...more }: Fields): Fields {
  return { ...more, page: Number(page), size: Number(size) }
}

export function sendJson(response: ServerResponse, answer: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(answer))
}

/** Answers requests of a path with a text. */
export function answersText(path: string, text: string): Disturb {
  return (request, response) => {
    if (request.path !== path) return false
    response.end(text)
    return true
  }
}

/** Answers requests of billable accounts with these rows. */
export function answersRows(rows: readonly Fields[], more: Fields = {}): Disturb {
  return answersText('/billable', JSON.stringify({ status: 1, data: rows, options: [], ...more }))
}

/** Stored revisions as the customer system has them: dates are texts in the time zone UTC. */
export function asCustomer(stored: Fields): Fields {
  const { _id: _, rev: __, ...fields } = stored
  return textDates(fields) as Fields
}

function textDates(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString().slice(0, 19).replace('T', ' ')
  if (Array.isArray(value)) return value.map(textDates)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, textDates(each)]))
}

export interface CrmSettings {
  readonly account?: Fields
  readonly subscriber?: Fields
  readonly billable?: Fields
}

/** The category `subscribers` for a customer system at this address. */
export function customerSettings(url: string, more: CrmSettings = {}): Fields {
  return {
    account: { type: 'external', external_url: `${url}/accounts`, ...more.account },
    subscriber: { type: 'external', external_url: `${url}/subscribers`, ...more.subscriber },
    billable: { url: `${url}/billable`, ...more.billable },
  }
}
