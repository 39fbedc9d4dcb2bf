/** The page of the API in a browser, as a person sees it. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OpenApiDocument } from '../../src/admin/openapi/document.ts'
import type { Admin } from '../../src/admin/start.ts'
import { DEFINITIONS } from '../../src/entities/definitions/collections.ts'
import { startTestAdmin } from '../support/admin/test-admin.ts'
import { startTestStores, type TestStores } from '../support/recorder/accounts.ts'
import { CHROMIUM } from '../support/tools.ts'

let stores: TestStores
let admin: Admin
let folder: string

beforeAll(async () => {
  stores = await startTestStores()
  folder = mkdtempSync(join(tmpdir(), 'tg-browser-'))
  admin = await startTestAdmin(stores)
})
afterAll(async () => {
  await admin.close(0)
  await stores.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The document in the browser once it is loaded. */
function documentIn(path: string): Promise<string> {
  return documentAt(`http://127.0.0.1:${admin.port}${path}`)
}

async function documentAt(url: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    CHROMIUM ?? 'chromium',
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--user-data-dir=${folder}`,
      '--dump-dom',
      url,
    ],
    { maxBuffer: 64 * 1024 * 1024 },
  )
  return stdout
}

/** Measures the page in a frame of a given width, like a phone. */
const MEASURE = `
const { contentDocument: page, contentWindow: view } = event.target
const name = (each) => each.tagName + ' ' + each.textContent.trim().slice(0, 60)
const all = [...page.body.querySelectorAll('*:not(thead):not(thead *):not(.skip)')]
const wider = all.filter((each) => each.getBoundingClientRect().right > view.innerWidth + 1
  || each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0)
document.querySelector('output').textContent = JSON.stringify({
  viewport: view.innerWidth, isWider: page.documentElement.scrollWidth > view.innerWidth,
  wider: wider.slice(0, 5).map(name),
  rows: page.querySelectorAll('tbody tr').length > 1000 })`

/** A page in a frame of this width; the surrounding document has the measured values. */
async function measuredInFrame(page: string, width: number): Promise<string> {
  const style = `width: ${width}px; height: 700px; border: 0`
  const frame = `<iframe src="/page" style="${style}" onload="measure(event)"></iframe>`
  const script = `<script>function measure(event) {${MEASURE}}</script>`
  const around = `<!doctype html>${script}<output></output>${frame}`
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(request.url === '/page' ? page : around)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    return await documentAt(`http://127.0.0.1:${port}/`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

describe('/docs', () => {
  it.skipIf(CHROMIUM === undefined)('shows every collection and action in a browser', async () => {
    const dom = await documentIn('/docs')
    expect(dom).toContain('<title>Tollgate entity API')
    for (const { name, actions } of DEFINITIONS.values()) {
      for (const action of Object.keys(actions)) {
        expect(dom).toContain(`/billapi/${name}/${action}`)
      }
    }
  })

  it.skipIf(CHROMIUM === undefined).each([360, 800])(
    'is not wider than a screen of %d pixels, with all details open',
    async (width) => {
      const page = await (await fetch(`http://127.0.0.1:${admin.port}/docs`)).text()
      const dom = await measuredInFrame(page.replaceAll('<details', '<details open'), width)
      const measured = /<output>(.*)<\/output>/s.exec(dom)?.[1] ?? ''
      expect(JSON.parse(measured)).toEqual({
        viewport: width,
        isWider: false,
        wider: [],
        rows: true,
      })
    },
  )

  it('has no script and may load nothing', async () => {
    const response = await fetch(`http://127.0.0.1:${admin.port}/docs`)
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(await response.text()).not.toMatch(/<script|<link|<img|src=/i)
  })
})

describe('/openapi.json', () => {
  it('has every action of every collection', async () => {
    const response = await fetch(`http://127.0.0.1:${admin.port}/openapi.json`)
    const { openapi, info, paths } = (await response.json()) as OpenApiDocument
    expect([openapi, info.version]).toEqual(['3.1.0', '6.0'])
    const expected = [...DEFINITIONS.values()].flatMap(({ name, actions }) =>
      Object.keys(actions).map((action) => `/billapi/${name}/${action}`),
    )
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(['/api', ...expected]))
  })
})
