/**
 * How long pages of the console take in the Chromium of the machine: the median of five, each in a
 * context of its own, with an empty cache and a session that is logged in.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import {
  CHROMIUM,
  type ConsoleVisit,
  closeConsoles,
  launchBrowser,
  openConsole,
} from '../../test/support/console/browser.ts'
import {
  type CustomerScene,
  logIn,
  startCustomerScene,
} from '../../test/support/console/customer-scene.ts'
import { median, round } from '../measure/load.ts'
import {
  type Bench,
  type Goal,
  type Scenario,
  type ScenarioResult,
  SkippedError,
} from '../scenario.ts'
import { addLines, addSubscribers, casesText, LINES_SID, NAME_PREFIX } from './page-data.ts'
import { seenAfterMove, TIMES_SCRIPT, untilSeen } from './page-times.ts'
import { CUSTOMER_CALLS } from './viewers.ts'

const TIMES = 5
const LINES = 100_000
const LINES_SHORT = 10_000
const ROWS = 100
const MSISDN = '447700900123'
/** Until what a stopped store held is on its disk. */
const SETTLE_MS = 2_000

const PARTS = `[...document.querySelectorAll('.health li')]`
const REDIS = `${PARTS}.find((part) => part.textContent.includes('Redis'))`
const REDIS_IS = (level: string) => `${REDIS}?.classList.contains('${level}')`
const CHARTS = `document.querySelector('.canvas canvas')`
const BAR = `document.querySelector('li.balance svg.bar')`
const HITS = `document.querySelector('.hits [role=option]')`
const LINES_SHOWN = `document.querySelectorAll('.lines tbody tr').length === ${ROWS}`
const SIMULATED = 100
const STEPS = `document.querySelector('.plot-steps')`
const SIMULATED_SHOWN = `document.querySelectorAll('.simulator tbody tr').length > ${SIMULATED}`
const BALANCES = `[...document.querySelectorAll('li.balance')]`
const DATA_PACK = `${BALANCES}.find((each) => each.textContent.includes('DATA_PACK'))`
const RESERVED = `${DATA_PACK}?.querySelector('.amounts .reserved dd')?.textContent`

interface Stage {
  readonly scene: CustomerScene
  open(hash?: string): Promise<ConsoleVisit>
}

interface Figure {
  readonly name: string
  readonly unit: 'ms' | 'bytes' | 'requests'
  readonly atMost: number | null
  readonly values: number[]
}

export const pagesScenario: Scenario = {
  name: 'console-pages',
  what: 'pages of the console in a browser: until figures, balances, hits and lines are there',
  inShort: true,
  async run(bench) {
    if (CHROMIUM === undefined) throw new SkippedError('there is no Chromium on this machine')
    const scene = await startCustomerScene()
    const browser = await launchBrowser()
    try {
      const filled = await fill(bench, scene)
      const stage = await createStage(scene, browser)
      const figures = await measureAll(bench, stage)
      return resultOf(figures, [filled], await otherCalls(stage))
    } finally {
      await browser.close()
      await scene.close()
    }
  },
}

async function fill(bench: Bench, scene: CustomerScene): Promise<string> {
  const { population, short } = bench.settings
  const lines = short ? LINES_SHORT : LINES
  const begin = performance.now()
  await addSubscribers(scene, population)
  const subscribersMs = performance.now() - begin
  await addLines(scene, lines)
  const seconds = (ms: number) => round(ms / 1000, 1)
  const linesMs = performance.now() - begin - subscribersMs
  const text =
    `${population} subscribers, inserted in bulk in ${seconds(subscribersMs)} s, and one with ` +
    `${lines} lines (${seconds(linesMs)} s) are in the embedded store`
  bench.say(`  ${text}`)
  return text
}

async function createStage(scene: CustomerScene, browser: Browser): Promise<Stage> {
  const [name = '', value = ''] = (await logIn(scene.product.adminUrl)).split(/=(.*)/s)
  const cookie = { name, value, domain: '127.0.0.1', path: '/', expires: -1 }
  const cookies = [{ ...cookie, httpOnly: true, secure: false, sameSite: 'Lax' as const }]
  return {
    scene,
    open: (hash = '') =>
      openConsole(browser, `${scene.url}${hash}`, {
        storageState: { cookies, origins: [] },
        initScript: TIMES_SCRIPT,
      }),
  }
}

async function measureAll(bench: Bench, stage: Stage): Promise<readonly Figure[]> {
  const figure = (name: string, atMost: number | null, unit: Figure['unit'] = 'ms'): Figure => {
    return { name, atMost, unit, values: [] }
  }
  const overview = {
    figures: figure('first figures after navigation', 1_000),
    charts: figure('charts after navigation', null),
    bytes: figure('first page, bytes', 75_000, 'bytes'),
    requests: figure('first page, requests', 12, 'requests'),
  }
  const msisdn = figure('phone number and Enter → bars of the balances', 300)
  const name = figure('begin of a name and Enter → hits', 300)
  const typed = figure('begin of a name without Enter → hits', null)
  const lines = figure(`first ${ROWS} of the lines`, 500)
  const release = figure('release → bar falls', 2_000)
  const redraw = figure('price of a tier typed → staircase drawn', 50)
  const cases = figure(`${SIMULATED} cases priced before and after → table`, 1_000)
  const planLines = figure(`${SIMULATED} lines of a plan priced before and after → table`, 1_000)
  const red = figure('Redis killed → red', 3_000)
  const green = figure('Redis back → recovered', 3_000)
  for (let time = 0; time < TIMES; time += 1) {
    // A session may have two streams: further pages would poll.
    const alone = async <T>(work: Promise<T>) => work.finally(closeConsoles)
    await alone(measureOverview(stage, overview))
    msisdn.values.push(await alone(searchTime(stage, MSISDN, BAR)))
    name.values.push(await alone(searchTime(stage, NAME_PREFIX, HITS)))
    typed.values.push(await alone(searchTime(stage, NAME_PREFIX, HITS, false)))
    lines.values.push(await alone(linesTime(stage)))
    release.values.push(await alone(releaseTime(stage)))
    redraw.values.push(await alone(redrawTime(stage)))
    cases.values.push(await alone(simulationTime(stage, 'cases')))
    planLines.values.push(await alone(simulationTime(stage, 'lines')))
    const outage = await alone(outageTimes(stage))
    red.values.push(outage.red)
    green.values.push(outage.green)
    bench.say(`  ${time + 1} of ${TIMES}`)
  }
  return [
    ...Object.values(overview),
    msisdn,
    name,
    typed,
    lines,
    release,
    redraw,
    cases,
    planLines,
    red,
    green,
  ]
}

async function measureOverview(
  { open }: Stage,
  { figures, charts, bytes, requests }: Readonly<Record<string, Figure>>,
): Promise<void> {
  const visit = await open()
  const [first, drawn] = await Promise.all([
    untilSeen(visit.page, REDIS_IS('good')),
    untilSeen(visit.page, CHARTS),
  ])
  figures?.values.push(first.tookMs)
  charts?.values.push(drawn.tookMs)
  await visit.page.getByText(/^live ·/).waitFor()
  bytes?.values.push(visit.requests.reduce((sum, request) => sum + request.bytes, 0))
  // The stream of samples is open.
  requests?.values.push(visit.requests.length + 1)
}

async function searchTime(stage: Stage, text: string, seen: string, hasEnter = true) {
  const page = await openOverview(stage)
  await page.keyboard.press('/')
  const found = untilSeen(page, seen)
  await page.keyboard.insertText(text)
  if (hasEnter) await page.keyboard.press('Enter')
  return (await found).tookMs
}

/** Resolves when all charts are drawn: a reader looks before typing. */
async function openOverview({ open }: Stage): Promise<Page> {
  const { page } = await open()
  await untilSeen(page, CHARTS)
  await page.evaluate('new Promise((done) => requestIdleCallback(() => done()))')
  return page
}

async function linesTime(stage: Stage): Promise<number> {
  const page = await openOverview(stage)
  return (await seenAfterMove(page, `#/customer/sid/${LINES_SID}`, LINES_SHOWN)).tookMs
}

async function releaseTime({ scene, open }: Stage): Promise<number> {
  const id = await scene.openSession()
  const { page } = await open(`#/customer/sid/${scene.sid}`)
  await page.getByRole('button', { name: `Release session ${id}` }).click()
  await page.getByLabel('Reason').fill('benchmark')
  const [fallen] = await Promise.all([
    untilSeen(page, `${RESERVED} === '0'`),
    page.getByRole('dialog').getByRole('button', { name: 'Release' }).click(),
  ])
  return fallen.tookMs
}

async function redrawTime({ open }: Stage): Promise<number> {
  const { page } = await open('#/catalogue/rates/CALL')
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  const price = page.getByLabel('price of tier 2')
  await price.press('End')
  const before = await page.locator('.plot-steps').getAttribute('d')
  const drawn = untilSeen(page, `${STEPS}.getAttribute('d') !== ${JSON.stringify(before)}`)
  await page.keyboard.insertText('9')
  return (await drawn).tookMs
}

/** An edit of the rate of calls, tried on cases or on the latest lines of the plan. */
async function simulationTime({ open }: Stage, usage: 'cases' | 'lines'): Promise<number> {
  const { page } = await open('#/catalogue/rates/CALL')
  const click = (name: string) => page.getByRole('button', { name, exact: true }).click()
  await click('Edit')
  await page.getByLabel('price of tier 1').fill('0.011')
  await click('Simulate prices…')
  await page.getByLabel('Usage to price').selectOption(usage)
  if (usage === 'cases') await page.getByLabel('Cases', { exact: true }).fill(casesText(SIMULATED))
  else await page.getByLabel('Plan', { exact: true }).fill('GOLD')
  const [seen] = await Promise.all([
    untilSeen(page, SIMULATED_SHOWN),
    click('Price before and after'),
  ])
  return seen.tookMs
}

async function outageTimes(stage: Stage): Promise<{ red: number; green: number }> {
  const page = await openOverview(stage)
  const { product } = stage.scene
  await pause(SETTLE_MS)
  const killedMs = Date.now()
  const [red] = await Promise.all([untilSeen(page, REDIS_IS('bad')), product.kill9('redis')])
  await product.start('redis')
  const startedMs = Date.now()
  const green = await untilSeen(page, REDIS_IS('good'))
  return { red: red.atMs - killedMs, green: green.atMs - startedMs }
}

/** The viewers of `load.ts` call what the page of a customer calls. */
async function otherCalls({ scene, open }: Stage): Promise<readonly string[]> {
  const { page, requests } = await open(`#/customer/sid/${scene.sid}`)
  await untilSeen(page, BAR)
  await page.locator('.lines tbody tr').first().waitFor()
  const isOfPage = (path: string) => /^(?:billapi|api)\//.test(path) && path !== 'api/clock'
  const calls = () => requests.map(({ path }) => path.slice(1)).filter(isOfPage)
  const [is, expected] = [calls().sort().join(', '), [...CUSTOMER_CALLS].sort().join(', ')]
  return is === expected ? [] : [`the page of a customer calls ${is}, but viewers ${expected}`]
}

function resultOf(
  figures: readonly Figure[],
  notes: readonly string[],
  failures: readonly string[],
): ScenarioResult {
  const middle = ({ values }: Figure) => Math.round(median(values))
  const nameOf = ({ name, unit }: Figure) => (unit === 'ms' ? `${name}, ms` : name)
  const goals = figures.flatMap((figure): Goal[] => {
    const { atMost } = figure
    if (atMost === null) return []
    return [{ what: nameOf(figure), is: middle(figure), wanted: { atMost } }]
  })
  return {
    figures: Object.fromEntries(figures.map((figure) => [nameOf(figure), middle(figure)])),
    ratios: {},
    goals,
    tables: [
      {
        title: `Pages in Chromium (${TIMES} times, an empty cache each time)`,
        columns: ['', 'median', 'least', 'most'],
        rows: figures.map((figure) => [
          nameOf(figure),
          middle(figure),
          Math.round(Math.min(...figure.values)),
          Math.round(Math.max(...figure.values)),
        ]),
      },
    ],
    notes,
    failures,
  }
}
