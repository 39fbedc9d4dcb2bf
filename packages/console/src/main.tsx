import './tokens.css'
import './base.css'
import { render } from 'preact'
import { startProbe } from './api/probe.ts'
import { startChoices } from './frame/choices.ts'
import { startKeys } from './frame/keys.ts'
import { startLogin } from './frame/login.tsx'
import { startRouting } from './frame/routes.ts'
import { startScroll } from './frame/scroll.ts'
import { Shell } from './frame/shell.tsx'
import { ROUTES } from './pages/routes.ts'

startRouting(ROUTES)
startChoices()
startKeys()
startProbe()
startScroll()
startLogin()
const app = document.getElementById('app')
if (app !== null) render(<Shell />, app)
