/** Scroll positions of the entries of the history: the way back leads to the same rows. */

const positions = new Map<string, number>()
/** How long a page may take to become as high as it was. */
const RESTORE_MS = 3_000

let current = entryKey() ?? markEntry()
/** A page that is replaced becomes shorter: the browser then scrolls, not the reader. */
let isReplaced = false

export function startScroll(): void {
  window.history.scrollRestoration = 'manual'
  const remember = () => {
    if (!isReplaced) positions.set(current, window.scrollY)
  }
  window.addEventListener('scroll', remember, { passive: true })
  window.addEventListener('hashchange', () => {
    isReplaced = true
  })
}

/** Called when a page is shown: at its begin, or where the reader has left it. */
export function scrollToEntry(): void {
  const known = entryKey()
  current = known ?? markEntry()
  const top = known === null ? 0 : (positions.get(known) ?? 0)
  isReplaced = false
  window.scrollTo(0, top)
  if (top > 0) restore(top)
}

/** Focuses a panel and has its row in view: above it if it lies over the rows. */
export function showBeside(panelSelector: string, rowSelector: string): void {
  const [panel, row] = [panelSelector, rowSelector].map((each) => document.querySelector(each))
  panel?.querySelector('h2')?.focus({ preventScroll: true })
  if (!panel || !row) return
  const isOver = panel.getBoundingClientRect().left < row.getBoundingClientRect().right
  row.scrollIntoView({ block: isOver ? 'start' : 'nearest' })
}

/** Entries of links that were followed have no state yet. */
function entryKey(): string | null {
  const state: unknown = window.history.state
  return typeof state === 'string' ? state : null
}

function markEntry(): string {
  const key = `${positions.size} ${window.history.length} ${window.location.hash}`
  window.history.replaceState(key, '')
  positions.set(key, 0)
  return key
}

/** Rows may come after the page: waits until it is high enough, or the reader scrolls. */
function restore(top: number): void {
  const page = document.getElementById('content')
  if (page === null) return
  const observer = new ResizeObserver(() => {
    window.scrollTo(0, top)
    if (window.scrollY >= top) end()
  })
  const end = () => {
    observer.disconnect()
    clearTimeout(timer)
  }
  const timer = setTimeout(end, RESTORE_MS)
  for (const event of ['wheel', 'keydown', 'pointerdown']) {
    window.addEventListener(event, end, { once: true, passive: true })
  }
  observer.observe(page)
}
