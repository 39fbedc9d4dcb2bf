/** `tollgate diameter send`, with the examples of the documentation, against the product. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { type Product, startProduct } from '../../support/product/product.ts'
import { tollgate } from '../../support/system/command.ts'
import { creditControl } from '../../support/system/diameter/wire.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
/** The first YAML example below a heading. */
function exampleOf(document: string, heading: string): string {
  const text = readFileSync(join(root, document), 'utf8')
  const behind = text.slice(text.indexOf(heading))
  return /```yaml[^\n]*\n([\s\S]*?)```/.exec(behind)?.[1] ?? ''
}

let product: Product

beforeAll(async () => {
  product = await startProduct()
  expect(await tollgate(product, ['seed', 'demo'])).toMatchObject({ code: 0 })
  await product.start('realtime')
})
afterAll(() => product?.stop())

function fileOf(content: string): string {
  const file = join(product.folder, 'ccr')
  writeFileSync(file, content)
  return file
}

function send(content: string, ...options: string[]) {
  const args = ['diameter', 'send', '--ccr', fileOf(content), ...options]
  return tollgate(product, args, { TOLLGATE_DIAMETER_PORT: String(product.diameterPort) })
}

function answersIn(stdout: string): Record<string, unknown>[] {
  return parseAllDocuments(stdout).map((document) => document.toJS())
}

describe('tollgate diameter send', () => {
  it('sends the examples, and prints their answers', async () => {
    const session = await send(exampleOf('docs/DIAMETER.md', '## How to begin'))
    expect(session).toMatchObject({ code: 0, stderr: '' })
    const [opened, ended] = answersIn(session.stdout)
    expect(opened).toMatchObject({
      'Result-Code': 2001,
      'CC-Request-Type': 1,
      'Origin-Realm': 'localdomain',
      'Multiple-Services-Credit-Control': [
        { 'Rating-Group': 10, 'Granted-Service-Unit': { 'CC-Total-Octets': 1_048_576 } },
        { 'Rating-Group': 20, 'Result-Code': 2001 },
      ],
    })
    expect(ended).toMatchObject({ 'Result-Code': 2001, 'CC-Request-Type': 3 })
    expect(ended?.['Session-Id']).toBe(opened?.['Session-Id'])
    const readme = await send(exampleOf('README.md', '## Diameter'), '--json')
    expect(readme).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(readme.stdout)).toMatchObject({
      request: { 'CC-Request-Type': 1, 'Auth-Application-Id': 4 },
      answer: { 'Result-Code': 2001 },
    })
  })

  it('sends captured bytes unchanged', async () => {
    const example = parse(exampleOf('README.md', '## Diameter'))
    const first = creditControl({ 'Session-Id': 'captured;1', ...example }).toString('hex')
    const last = { 'Session-Id': 'captured;1', 'CC-Request-Type': 3, 'CC-Request-Number': 1 }
    const both = `${first.replace(/(.{64})/g, '$1\n')}\n\n${creditControl(last).toString('hex')}\n`
    const { code, stdout } = await send(both)
    expect(code).toBe(0)
    expect(answersIn(stdout)).toMatchObject([
      { 'Session-Id': 'captured;1', 'Result-Code': 2001, 'CC-Request-Type': 1 },
      { 'Session-Id': 'captured;1', 'Result-Code': 2001, 'CC-Request-Type': 3 },
    ])
  })

  it('exits with 1 if an answer is not a success', async () => {
    const { code, stdout } = await send('{"CC-Request-Type":2,"CC-Request-Number":1}')
    expect(code).toBe(1)
    expect(answersIn(stdout)).toMatchObject([
      { 'Result-Code': 5005, 'Failed-AVP': { 'Service-Context-Id': expect.anything() } },
    ])
  })

  it.each([
    ['{"CC-Foo":1}', 'CC-Foo is not a known AVP'],
    ['{"CC-Request-Type":"SOMETIMES"}', 'CC-Request-Type cannot be "SOMETIMES"'],
    ['- 5', 'message 1 must be an object of AVPs by name'],
    ['01000', 'has an odd number of hexadecimal digits'],
    ['0100001480000110', 'message 1 has a wrong length field'],
    ['', 'is empty'],
    ['a: b: c', 'is neither JSON nor YAML'],
  ])('names the error of %j', async (content, why) => {
    const { code, stdout, stderr } = await send(content)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(why)
  })

  it('names the peer that does not answer', async () => {
    const { code, stderr } = await send('{"CC-Request-Type":1}', '--port', '1')
    expect(code).toBe(1)
    expect(stderr).toBe('tollgate: cannot connect to 127.0.0.1:1: ECONNREFUSED\n')
    expect(await send('{}', '--ca', 'x')).toMatchObject({
      code: 2,
      stderr: 'tollgate: diameter send: --ca needs --tls\n',
    })
  })
})
