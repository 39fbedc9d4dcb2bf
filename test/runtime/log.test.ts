import { readFileSync } from 'node:fs'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createLogger, type LoggerOptions } from '../../src/runtime/log.ts'

function capture(level: LoggerOptions['level'] = 'info') {
  const lines: string[] = []
  const destination = { write: (line: string) => lines.push(line) }
  const log = createLogger({ name: 'test', level, destination })
  return { log, text: () => lines.join(''), last: () => JSON.parse(lines.at(-1) ?? '{}') }
}

describe('the log', () => {
  it('writes one JSON object per line with name, level and time', () => {
    const { log, text, last } = capture()
    log.info({ requestId: 'r1', count: 3 }, 'served')
    log.debug('not written')
    expect(text().split('\n')).toHaveLength(2)
    expect(last()).toMatchObject({
      level: 'info',
      name: 'test',
      requestId: 'r1',
      count: 3,
      msg: 'served',
    })
    expect(last().time).toMatch(/^\d{4}-\d\d-\d\dT/)
  })

  it('has no key twice in a line', () => {
    const { log, text } = capture()
    log.info({ name: 'GOLD', level: 3, msg: 'x', pid: 1, time: 0 }, 'stored')
    log.child({ run: 'a' }).warn({ run: 'b', count: 1 }, 'ended')
    log.error(new Error('boom'))
    for (const line of text().trim().split('\n')) {
      const keys = [...line.replace(/"err":\{.*?\},?/, '').matchAll(/"(\w+)":/g)].map(
        ([, key]) => key,
      )
      expect(keys).toEqual([...new Set(keys)])
    }
    expect(text()).toContain('"record_name":"GOLD"')
  })

  it('names the places of an error in the sources, not in the built files', () => {
    const { log, last } = capture()
    const file = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url))
    const lines = readFileSync(file, 'utf8').split('\n')
    const line = lines.findIndex((text) => text.startsWith('function main(')) + 1
    const known = `    at main (file://${file}:${line}:10)`
    const unknown = '    at f (file:///a/dist/src/gone.js:1:2)\n    at node:internal/x:1:2'
    const error = Object.assign(new Error('x'), { stack: `Error: x\n${known}\n${unknown}` })
    log.error(error)
    const source = readFileSync(new URL('../../src/main.ts', import.meta.url), 'utf8').split('\n')
    const expected = source.findIndex((text) => text.startsWith('export function main(')) + 1
    expect(last().err.stack).toBe(`Error: x\n    at main (src/main.ts:${expected}:17)\n${unknown}`)
    log.error(error)
    expect(last().err.stack).toContain(`src/main.ts:${expected}:17`)
  })

  it('masks subscriber numbers at info level, wherever they occur', () => {
    const { log, text } = capture('info')
    log.info({
      msisdn: '33600000001',
      request: { imsi: '208010000000002', list: [{ sid: 9900077001 }] },
    })
    log.child({ msisdn: '33600000003', sid: 9900077001 }).warn('child')
    log.info({ called_number: '33600000004', calledNumber: '33600000005' })
    for (const number of ['3360000000', '208010000000002', '9900077001']) {
      expect(text()).not.toContain(number)
    }
  })

  it.each(['sid', 'aid', 'called_number', 'calling_number', 'calledNumber', 'calling-number'])(
    'masks a short %s in objects, children and errors',
    (name) => {
      const { log, text } = capture('info')
      const error = Object.assign(new Error(`dup key: { ${name}: 51, "${name}": "51" }`), {
        aid: 51,
        sid: 51,
        stack: '',
      })
      log.info({ [name]: 51, deep: [{ [name]: '51' }] })
      log.child({ [name]: 51 }).info('child')
      log.error({ err: error })
      const values = text().replace(/"(pid|time)":("[^"]*"|\d+)/g, '')
      expect(values).toContain(`dup key: { ${name}: ***`)
      expect(values).not.toContain('51')
    },
  )

  it('shows subscriber numbers, but no secrets, at debug level', () => {
    const { log, text } = capture('debug')
    log.info({ msisdn: '33600000001', password: 's3cret' })
    log.child({ token: 's3cret' }).debug('child')
    expect(text()).toContain('33600000001')
    expect(text()).not.toContain('s3cret')
  })

  it.each(['password', 'client_secret', 'Authorization', 'set-cookie', 'accessToken', 'apiKey'])(
    'masks %s',
    (name) => {
      const { log, text } = capture()
      log.info({ settings: { [name]: 's3cret' } })
      expect(text()).toContain(name)
      expect(text()).not.toContain('s3cret')
    },
  )

  it('masks the user of a URL in objects, messages, arguments and errors', () => {
    const { log, text } = capture()
    const url = 'redis://user:s3cret@cache:6379'
    log.info({ url }, `connected to ${url}`)
    log.info('connected to %s', url)
    log.error(new Error(`cannot reach ${url}`))
    log.error({ err: new Error(`cannot reach ${url}`) })
    expect(text().match(/redis:\/\/\*\*\*@cache:6379/g)?.length).toBeGreaterThanOrEqual(6)
    expect(text()).not.toContain('s3cret')
  })

  it('reduces errors to fields known to be harmless', () => {
    const { log, text, last } = capture()
    const cause = new Error('E11000 duplicate key { msisdn: "33600000001" }')
    const error = Object.assign(new Error('write failed', { cause }), {
      code: 11000,
      command: { args: ['33600000001'] },
    })
    log.error({ err: error }, 'recorder')
    expect(last().err).toMatchObject({ type: 'Error', message: 'write failed', code: 11000 })
    expect(last().err.cause.message).toBe('E11000 duplicate key { msisdn: "***" }')
    expect(text()).not.toContain('33600000001')
  })

  it('uses the message of a bare error', () => {
    const { log, last } = capture()
    log.error(new TypeError('broken'))
    expect(last()).toMatchObject({ msg: 'broken', err: { type: 'TypeError' } })
  })

  it('does not traverse sockets, cycles, buffers or long lists', () => {
    const { log, last } = capture()
    const circle: Record<string, unknown> = { name: 'c' }
    circle['self'] = circle
    const many = Array.from({ length: 1000 }, (_, index) => index)
    log.info({ socket: new Socket(), circle, bytes: Buffer.from('s3cret'), many, none: null })
    expect(last()).toMatchObject({ socket: '[Socket]', bytes: '[6 bytes]', none: null })
    expect(last().many).toHaveLength(100)
  })

  it('contains method and path of an HTTP request, not its query', () => {
    const { log, text, last } = capture()
    const req = new IncomingMessage(new Socket())
    Object.assign(req, { method: 'GET', url: '/entities?token=s3cret' })
    log.info({ req, res: { statusCode: 200, secretHeader: 'x' } }, 'incoming')
    expect(last()).toMatchObject({
      req: { method: 'GET', path: '/entities' },
      res: { statusCode: 200 },
    })
    expect(text()).not.toContain('s3cret')
  })
})
