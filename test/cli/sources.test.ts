/** The role `sources` of `tollgate start`, as a process: start, metrics and end are only there. */
// covers: src/intake/sources/ src/transfer/
import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { HOUSE } from '../house/tree.ts'
import { createProduct } from '../support/cli/product.ts'
import { useFolder, useOpened } from '../support/opened.ts'

const folder = useFolder()
const source = { place: 'spool', fileType: 'ROAMING', pattern: '*.csv', stableMs: 0 }
/** Places that cannot be reached: an outage each. */
const sftp = { url: 'sftp://me@127.0.0.1:1/', hostKey: `SHA256:${'A'.repeat(43)}`, secret: 'key' }
const AWAY = {
  host: sftp,
  folder: { url: `file://${folder}/none` },
  key: { ...sftp, secret: 'broken' },
}
const away = Object.keys(AWAY)
const product = useOpened(() =>
  createProduct({
    TOLLGATE_TRANSFER_PLACES: JSON.stringify({ spool: { url: `file://${folder}` }, ...AWAY }),
    TOLLGATE_TRANSFER_SECRETS: JSON.stringify({ key: 'k', broken: '-----BEGIN KEY-----' }),
    TOLLGATE_INTAKE_SOURCES: JSON.stringify({
      roaming: source,
      ...Object.fromEntries(away.map((place) => [place, { ...source, place }])),
    }),
    TOLLGATE_INTAKE_POLL_MS: '100',
  }),
)

it('takes files from the configured sources, as soon as their file type is stored', async () => {
  const tollgate = await product().start()
  expect([...tollgate.children().keys()]).toContain('sources')
  const metrics = async () => (await fetch(`${tollgate.admin}/metrics`)).text()
  copyFileSync(join(HOUSE, 'examples/roaming.csv'), join(folder, 'a.csv'))
  await expect.poll(metrics).toMatch(/tollgate_intake_source_failing\{source="roaming",.*\} 1/)
  const set = await product().run('filetype', 'set', join(HOUSE, 'examples/roaming.yaml'))
  expect(set.code).toBe(0)
  await expect.poll(() => existsSync(join(folder, 'done/a.csv'))).toBe(true)
  const report = JSON.parse(readFileSync(join(folder, 'done/a.csv.report.json'), 'utf8'))
  expect(report).toMatchObject({ source: 'roaming', state: 'done', repeated: false })
  expect(report.charged).toBeGreaterThan(0)
  await expect
    .poll(metrics)
    .toMatch(/tollgate_intake_files_total\{source="roaming",result="done",.*role="sources"\} 1/)
  const failing = (name: string) => `tollgate_intake_source_failing\\{source="${name}",.*\\} `
  expect(await metrics()).toMatch(new RegExp(`${failing('roaming')}0`))
  for (const name of away) expect(await metrics()).toMatch(new RegExp(`${failing(name)}1`))
  tollgate.signal('SIGTERM')
  expect((await tollgate.ended).code).toBe(0)
})
