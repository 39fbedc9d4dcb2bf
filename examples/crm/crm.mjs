/**
 * An example of a customer system for Tollgate: the three requests of external customer mode, over
 * plain HTTP, for revisions in a JSON file. TOKEN=<secret> TZ=UTC node crm.mjs customers.json 8700
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'

/** Revisions of this many days before the cycle are included, for usage that arrives late. */
const DAYS_BEFORE = 92
const DAY_MS = 86_400_000
const BODY_LENGTH_MAX = 1_000_000

/** Texts of both forms, in the time zone of this process (TZ) unless they have an offset. */
function instant(text) {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text)
  return Date.parse(isDay ? `${text}T00:00:00` : text.replace(' ', 'T'))
}

/** Accounts of a cycle by pages: sorted by number, each with its revisions and subscribers. */
function billable(request, revisions) {
  const { start_date, end_date, page = 0, size = 100, aids = '', invoicing_days: days } = request
  const wanted = aids === '' ? null : new Set(String(aids).split(',').map(Number))
  const startMs = instant(start_date) - DAYS_BEFORE * DAY_MS
  const active = revisions.filter(
    ({ aid, from, to }) =>
      instant(from) < instant(end_date) &&
      instant(to) > startMs &&
      (wanted === null || wanted.has(aid)),
  )
  const accounts = active.filter(
    ({ type, invoicing_day: day }) =>
      type === 'account' && (days === undefined || days.map(Number).includes(Number(day))),
  )
  const numbers = [...new Set(accounts.map(({ aid }) => aid))].sort((a, b) => a - b)
  const onPage = numbers.slice(page * size, (page + 1) * size)
  const of = (number, wantedType) =>
    active.filter(({ aid, type }) => aid === number && type === wantedType)
  const data = onPage.flatMap((aid) => [...of(aid, 'account'), ...of(aid, 'subscriber')])
  return { status: 1, data, options: [] }
}

/** The revisions that the queries select, each with the `id` of its query. */
function details({ query, limit, time: common }, revisions, wantedType) {
  return query.flatMap(({ id, time = common, params, limit: most = limit ?? revisions.length }) => {
    const atMs = time === undefined ? null : instant(time)
    return revisions
      .filter(({ type }) => type === wantedType)
      .filter(({ from, to }) => atMs === null || (instant(from) <= atMs && atMs < instant(to)))
      .filter((revision) => params.every((param) => isMet(param, revision)))
      .slice(0, most)
      .map(({ type: _, ...revision }) => ({ ...revision, id }))
  })
}

/** A field that is a list, such as `imsi`, has the value as a member. */
function isMet({ key, operator, value }, revision) {
  const values = (Array.isArray(value) ? value : [value]).map(String)
  if (operator !== 'equal' && operator !== 'in') throw new Error(`operator ${operator}`)
  return [revision[key]].flat().some((each) => each !== undefined && values.includes(String(each)))
}

const PATHS = {
  '/billable': billable,
  '/accounts': (request, revisions) => details(request, revisions, 'account'),
  '/subscribers': (request, revisions) => details(request, revisions, 'subscriber'),
}

/** The answer to a request, undefined for an unknown path. */
export function answerOf(path, request, revisions) {
  return PATHS[path]?.(request, revisions)
}

async function bodyOf(request) {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk
    if (body.length > BODY_LENGTH_MAX) throw new Error('the request is too long')
  }
  return JSON.parse(body)
}

/**
 * A server that is not listening yet. `revisions`: of accounts and subscribers, read for each
 * request. Requests have to send the token, if there is one.
 */
export function createCrm(revisions, { token } = {}) {
  return createServer(async (request, response) => {
    const send = (status, answer) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer))
    }
    if (!(request.url in PATHS)) return send(404, { error: 'not found' })
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
      return send(401, { error: 'invalid token' })
    }
    try {
      send(200, answerOf(request.url, await bodyOf(request), revisions))
    } catch (error) {
      send(400, { status: 0, error: error.message })
    }
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , file = 'customers.json', port = '8700'] = process.argv
  const revisions = JSON.parse(readFileSync(file, 'utf8'))
  const { TOKEN: token } = process.env
  createCrm(revisions, { token }).listen(Number(port), '127.0.0.1', () => {
    console.log(`customer system with ${revisions.length} revisions on http://127.0.0.1:${port}`)
  })
}
