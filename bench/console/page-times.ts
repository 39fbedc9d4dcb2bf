/** Times within a page: from the last input until something is in the DOM. */
import type { Page } from 'playwright-core'

export interface Seen {
  /** ms since 1970, by the clock of the machine. */
  readonly atMs: number
  /** Since the last key or click, `startTimer`, or else the navigation. */
  readonly tookMs: number
}

const LATE_MS = 60_000

/**
 * Runs in each document before its own scripts. A text, because the benchmark is compiled without
 * types of the DOM.
 */
export const TIMES_SCRIPT = `(() => {
  const now = () => performance.timeOrigin + performance.now()
  let inputMs = performance.timeOrigin
  const begin = () => { inputMs = now() }
  for (const type of ['keydown', 'input', 'click']) addEventListener(type, begin, true)
  const watched = { subtree: true, childList: true, characterData: true, attributes: true }
  const untilSeen = (isSeen) => new Promise((resolve) => {
    const look = () => {
      if (!isSeen()) return
      observer.disconnect()
      resolve({ atMs: now(), tookMs: now() - inputMs })
    }
    const observer = new MutationObserver(look)
    observer.observe(document, watched)
    look()
  })
  Object.assign(window, { times: { begin, untilSeen } })
})()`

/** `condition`: an expression in the page. Rejects after a minute. */
export function untilSeen(page: Page, condition: string): Promise<Seen> {
  return seen(page, condition, '')
}

/** Goes to another page of the console, and waits for something there. */
export function seenAfterMove(page: Page, hash: string, condition: string): Promise<Seen> {
  return seen(page, condition, `times.begin(), location.hash = ${JSON.stringify(hash)};`)
}

async function seen(page: Page, condition: string, before: string): Promise<Seen> {
  const wait = `times.untilSeen(() => ${condition})`
  const text = `setTimeout(() => resolve(document.body.innerText), ${LATE_MS})`
  const late = `new Promise((resolve) => ${text})`
  const found = await page.evaluate<Seen | string>(`${before} Promise.race([${wait}, ${late}])`)
  if (typeof found === 'string') throw new Error(`not seen in the page: ${condition}\n${found}`)
  return found
}
