#!/usr/bin/env node
/**
 * An example of a receiver of notifications: prints each one as a line of JSON and accepts it.
 * Listens on 127.0.0.1. npx ./examples/receiver [--port 8183]
 */
import { createServer } from 'node:http'
import { parseArgs } from 'node:util'

const PORT = '8183'
const BODY_LENGTH_MAX = 1_000_000
/** Parameters that are JSON text in a URL or a form. */
const COMPOUND = ['extra_params', 'conditions', 'related_entities']

/** The last stamps: a notification may arrive more than once, with the same stamp. */
const stamps = new Set()
const STAMPS_MAX = 10_000

function isRepeated(stamp) {
  if (stamps.has(stamp)) return true
  stamps.add(stamp)
  if (stamps.size > STAMPS_MAX) stamps.delete(stamps.values().next().value)
  return false
}

async function bodyOf(request) {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk
    if (body.length > BODY_LENGTH_MAX) throw new Error('the body is too long')
  }
  return body
}

/** The notification, from the parameters of a GET, or from the JSON or the form of a POST. */
async function notificationOf(request) {
  const { searchParams } = new URL(request.url, 'http://127.0.0.1')
  const body = request.method === 'POST' ? await bodyOf(request) : ''
  const isJson = request.headers['content-type']?.includes('json')
  const fields = isJson
    ? JSON.parse(body)
    : Object.fromEntries([...searchParams, ...new URLSearchParams(body)])
  for (const name of COMPOUND) {
    if (typeof fields[name] === 'string') fields[name] = JSON.parse(fields[name])
  }
  if (!fields.stamp || !fields.event_code) throw new Error('stamp or event_code is missing')
  return fields
}

/** Without control characters, which a terminal would obey. */
function lineOf(notification) {
  return JSON.stringify(notification).replaceAll(
    /[\x7f-\x9f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  )
}

async function receive(request, response) {
  const answer = (status, body) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }
  try {
    const notification = await notificationOf(request)
    if (!isRepeated(notification.stamp)) console.log(lineOf(notification))
    answer(200, { success: true })
  } catch (error) {
    answer(400, { success: false, error: error.message })
  }
}

function portOf(args) {
  const { values } = parseArgs({ args, options: { port: { type: 'string', default: PORT } } })
  const port = /^\d{1,5}$/.test(values.port) ? Number(values.port) : Number.NaN
  if (port <= 65_535) return port
  throw new Error(`--port must be a number from 0 to 65535, not '${values.port}'`)
}

function fail(message, code) {
  console.error(`receiver: ${message}`)
  process.exitCode = code
}

try {
  const port = portOf(process.argv.slice(2))
  const server = createServer(receive)
  server.on('error', ({ message }) => fail(message, 1))
  server.listen(port, '127.0.0.1', () => {
    console.log(`receiving notifications on http://127.0.0.1:${server.address().port}/`)
  })
} catch (error) {
  fail(error.message, 2)
}
