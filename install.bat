@echo off
rem Installs Updraft on Windows: starts install.ps1 beside this file with the same options (see: install.bat -Help).
powershell -NoProfile -ExecutionPolicy Bypass -File "%~dp0install.ps1" %*
exit /b %ERRORLEVEL%
