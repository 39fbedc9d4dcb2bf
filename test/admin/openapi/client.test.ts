/** The package `@tollgate/client`, as it is packed: its types are strict, and it calls a node. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import ts from 'typescript'
import { beforeAll, describe, expect, it } from 'vitest'
import { remove } from '../../../src/admin/actions/deprecated/remove.ts'
import { envelopeOf } from '../../../src/admin/actions/envelope.ts'
import { HOUSE } from '../../house/tree.ts'
import { bareServer } from '../../support/admin/bare.ts'
import { startTestAdmin } from '../../support/admin/test-admin.ts'
import { useFolder, useOpened } from '../../support/opened.ts'
import { startTestStores } from '../../support/recorder/accounts.ts'

/** It resolves the package in the workspace, others the packed one. */
const WALK = fileURLToPath(new URL('./client/walk.ts', import.meta.url))

const folder = useFolder()
const installed = join(folder, 'node_modules/@tollgate/client')
beforeAll(() => {
  const pack = ['pack', '-s', '--ignore-scripts=false', '-w', 'packages/client']
  const args = [...pack, '--pack-destination', folder]
  const file = execFileSync('npm', args, { cwd: HOUSE, encoding: 'utf8' }).trim()
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['-xzf', join(folder, file), '-C', installed, '--strip-components=1'])
})

/** Compiler errors of files that use the package. */
function problemsOf(files: string[]): string[] {
  const program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    types: [],
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    allowImportingTsExtensions: true,
  })
  return ts.getPreEmitDiagnostics(program).map(({ messageText, file, start = 0 }) => {
    const line = file?.getLineAndCharacterOfPosition(start).line ?? 0
    return `${file?.fileName}:${line + 1} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
}

/** Accounts that must not compile: a field is missing, of a wrong type, or unknown. */
const WRONG_ACCOUNTS = [
  `{ lastname: 'Byron' }`,
  `{ ...PERSON, firstname: 7 }`,
  `{ ...PERSON, services: [{ nam: 'TV' }] }`,
  `{ ...PERSON, invoice_shipping_method: 'pigeon' }`,
]
const WRONG_CALLS = [
  `api.post('/billapi/accounts/creat', {})`,
  `api.post('/billapi/accounts/create')`,
  `api.get('/billapi/accounts/create')`,
  `api.get('/api/usedby', { collection: 7 })`,
  `api.post('/api/settings', { category: 'a', data: [[[[{ b: [() => 1] }]]]] })`,
  `api.get('/docs')`,
  `charging.post('/realtime', { record_type: 'stop_request', session_id: 's' })`,
]

function fileOf(name: string, ...lines: readonly string[]): string {
  const file = join(folder, name)
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}

function wrongFile(): string {
  return fileOf(
    'wrong.mts',
    `import { type ChargingPaths, type components, createClient } from '@tollgate/client'`,
    `type Account = components['schemas']['accounts.create.update']`,
    `const PERSON = { firstname: 'A', lastname: 'B', email: 'a@b.cd', country: 'UK',`,
    `  address: 'X', zip_code: '1' } satisfies Account`,
    `const api = createClient({ url: '' })`,
    `const charging = createClient<ChargingPaths>({ url: '' })`,
    ...WRONG_ACCOUNTS.map((update, index) => {
      return `// @ts-expect-error\nexport const wrong${index}: Account = ${update}`
    }),
    ...WRONG_CALLS.map((call) => `// @ts-expect-error\nvoid ${call}`),
  )
}

/** The lines of TypeScript in a README. */
function exampleFile(readme: string, name: string): string {
  const text = readFileSync(join(HOUSE, readme), 'utf8')
  const [, lines = ''] = /^```ts\n([\s\S]*?)\n```$/m.exec(text) ?? []
  expect(lines).toContain('createClient')
  const given = [
    `import type { components } from '@tollgate/client'`,
    `declare const token: string`,
    `declare const account: components['schemas']['accounts.create.update']`,
  ]
  return fileOf(name, ...given, lines)
}

/** Without the types: these are compiled above. */
interface Untyped {
  get(path: string, ...given: readonly object[]): Promise<Record<string, unknown>>
  post(path: string, ...given: readonly object[]): Promise<Record<string, unknown>>
}
interface Packed {
  readonly ApiError: new () => Error
  createClient(options: object): Untyped
}

const PERSON = { firstname: 'Ada', lastname: 'Byron', address: '1 Mill Road' }
const ACCOUNT = { ...PERSON, email: 'ada@example.org', zip_code: 'AB1 2CD', country: 'UK' }

describe('the packed client', () => {
  const stores = useOpened(startTestStores)
  const admin = useOpened(
    () => startTestAdmin(stores()),
    (opened) => opened.close(0),
  )
  const load = (): Promise<Packed> => import(pathToFileURL(join(installed, 'dist/index.js')).href)
  async function clientOf(more: object = {}) {
    const { createClient } = await load()
    return createClient({ url: `http://127.0.0.1:${admin().port}/`, ...more })
  }
  async function refused(call: Promise<unknown>) {
    const { ApiError } = await load()
    const error: unknown = await call.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ApiError)
    return error
  }

  it('compiles with the walk of docs/TUTORIAL.md and the READMEs, not with wrong calls', () => {
    const examples = [
      exampleFile('README.md', 'project.mts'),
      exampleFile('packages/client/README.md', 'package.mts'),
    ]
    expect(problemsOf([WALK, wrongFile(), ...examples])).toEqual([])
  })

  it.each(['api', 'charging'])('has no any and no unknown type: %s', (name) => {
    const generated = readFileSync(join(installed, `dist/${name}.d.ts`), 'utf8')
    // Headers of answers may have further names.
    const types = generated.replaceAll(/headers: \{[^{}]*\}/g, '')
    expect(types.match(/: (?:any|unknown)\b|\b(?:any|unknown)\[\]|<(?:any|unknown)>/g)).toBeNull()
  })

  it('writes once with an idempotency key, and reads', async () => {
    const api = await clientOf()
    const { entity } = await api.post('/billapi/accounts/create', { update: ACCOUNT })
    const { aid } = entity as { aid: number }
    const payment = { method: 'cash', payments: JSON.stringify([{ aid, amount: 15 }]) }
    const pay = () => api.post('/api/pay', payment, { idempotencyKey: 'desk-1' })
    const [first, second] = [await pay(), await pay()]
    expect(second['details']).toEqual(first['details'])
    const bill = await api.get('/api/bill', { aid, date: undefined })
    expect(bill['details']).toMatchObject({ balance: { total: '-15.00' } })
  })

  it('returns a denied charge, and throws a failed one', async () => {
    const denied = { status: 0, returnCode: -2, desc: 'Subscriber not found' }
    const failed = { status: 0, returnCode: -91, desc: 'Store is down' }
    const { url } = await bareServer((server) => {
      server.post('/realtime', async () => denied)
      server.post('/realtime/down', async (_, reply) => reply.code(503).send(failed))
    })
    const charging = await clientOf({ url })
    expect(await charging.post('/realtime', {})).toEqual(denied)
    expect(await refused(charging.post('/realtime/down', {}))).toMatchObject({
      ...{ status: 503, code: -91, message: 'Store is down', answer: failed },
    })
  })

  it('takes 0 removed lines for a success, and false for a refusal', async () => {
    const of = (answer: object) => envelopeOf(remove, new Map(), { ...answer })
    const answers = {
      none: of({ status: 0 }),
      failed: of({ status: false, desc: 'remove failed' }),
      unmerged: of({ status: 0, desc: 'failure' }),
    }
    const { url } = await bareServer((server) => {
      for (const [name, answer] of Object.entries(answers)) server.get(`/${name}`, () => answer)
    })
    const api = await clientOf({ url })
    expect(await api.get('/none')).toEqual(answers.none)
    expect(await refused(api.get('/failed'))).toMatchObject({ message: 'remove failed' })
    expect(await refused(api.get('/unmerged'))).toMatchObject({ message: 'failure' })
  })

  it('does not follow redirects', async () => {
    const paths: string[] = []
    const { url } = await bareServer((server) => {
      server.addHook('onRequest', async (request) => void paths.push(request.url))
      server.post('/:status', async ({ params }, reply) => {
        return reply.redirect('/elsewhere', Number((params as { status: string }).status))
      })
    })
    const api = await clientOf({ url })
    expect(await refused(api.post('/301'))).toMatchObject({ status: 301, message: 'HTTP 301' })
    expect(await refused(api.post('/307'))).toMatchObject({ status: 307 })
    expect(paths).toEqual(['/301', '/307'])
  })

  it('sends dates as ISO texts and other compound values as JSON text', async () => {
    const { url } = await bareServer((server) => {
      server.get('/query', ({ query }) => query)
    })
    const api = await clientOf({ url })
    const date = { sec: 1_772_323_200, usec: 250_000 }
    expect(await api.get('/query', { date, stamps: ['a'], query: { date }, size: 1 })).toEqual({
      date: '2026-03-01T00:00:00.250Z',
      ...{ stamps: '["a"]', query: JSON.stringify({ date }), size: '1' },
    })
  })

  it('does not quote a token that has a line break', async () => {
    const api = await clientOf({ token: 'secret\nsecret' })
    const error: unknown = await api.get('/api/bill').catch((thrown: unknown) => thrown)
    expect(String(error)).toBe('TypeError: The token has a line break or another control character')
  })

  it('throws refusals with their code and fields', async () => {
    const api = await clientOf()
    const create = (what: string, update: object) =>
      refused(api.post(`/billapi/${what}/create`, { update }))
    const { lastname: _, ...others } = ACCOUNT
    expect(await create('accounts', others)).toMatchObject({
      ...{ status: 200, code: 17_577, message: 'lastname is mandatory' },
      errors: [{ path: 'lastname', code: 'missing', why: 'is mandatory' }],
    })
    expect(await create('subscribers', { ...PERSON, aid: 'x', plan: 'P' })).toMatchObject({
      ...{ status: 200, code: 17_576, message: expect.stringContaining('update.aid') },
      errors: expect.arrayContaining([
        { path: 'aid', code: 'invalid', why: 'must be an integer up to 2^53' },
      ]),
    })
    const stranger = await clientOf({ token: async () => 'f'.repeat(40) })
    expect(await refused(stranger.get('/api/bill'))).toMatchObject({ status: 401 })
    expect(await refused(api.get('/docs'))).toMatchObject({ status: 200, answer: undefined })
  })
})
