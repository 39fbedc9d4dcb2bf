/** The frame of every page. */
import './shell.css'
import { useEffect, useState } from 'preact/hooks'
import { elapsedMs } from '../api/clock.ts'
import { nodeClock, readSession } from '../api/session.ts'
import { LiveRegion } from '../parts/live-region.tsx'
import { OfflineBanner } from '../parts/state.tsx'
import { formatTime } from '../parts/time.tsx'
import { t } from '../words/words.ts'
import { Login } from './login.tsx'
import { PageView } from './page-view.tsx'
import { link, location, MENU } from './routes.ts'
import { Search } from './search.tsx'
import { Tools } from './tools.tsx'

export function Shell() {
  return (
    <>
      <button type="button" class="skip" onClick={focusContent}>
        {t('frame.skip')}
      </button>
      <header class="top">
        <a class="brand" href={link('overview')}>
          Tollgate
        </a>
        <Menu />
        <Search />
        <Tools />
        <TestClock />
      </header>
      <OfflineBanner />
      <main id="content" tabIndex={-1}>
        <PageView />
      </main>
      <LiveRegion />
      <Login />
    </>
  )
}

function Menu() {
  const { route } = location.value
  const current = route?.menu ?? route?.pattern
  return (
    <nav aria-label={t('frame.pages')}>
      <ul class="menu">
        {MENU.map(({ page, title }) => (
          <li key={page}>
            <a href={link(page)} aria-current={page === current ? 'page' : undefined}>
              {t(title)}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

const TICK_MS = 10_000

/** Times of a node with a clock of its own are not those of the reader. */
function TestClock() {
  const [now, setNow] = useState(elapsedMs)
  useEffect(() => {
    const timer = setInterval(() => setNow(elapsedMs()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  const clock = nodeClock.value
  // It may have been moved meanwhile.
  useEffect(() => {
    if (clock !== null) void readSession()
  }, [location.value.route])
  if (clock === null) return null
  const at = clock.atMs + Math.max(0, now - clock.readMs)
  return <p class="test-clock">{t('frame.testClock', { time: formatTime(at) })}</p>
}

/** No link: the hash is the address of the page. */
function focusContent(): void {
  document.getElementById('content')?.focus()
}
