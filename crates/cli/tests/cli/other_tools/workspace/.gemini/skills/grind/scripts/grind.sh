#!/bin/sh
echo flour
