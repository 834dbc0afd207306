import './styles/base.css'
import './shared/ui/ui.css'
import './shell/shell.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { askEarly } from './shared/api/session'
import { App } from './shell/App'
import { applyTheme, followSystem } from './shell/theme'

askEarly()
applyTheme()
followSystem()
const root = document.getElementById('console')
if (root)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
